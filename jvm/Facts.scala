package org.apache.spark.sql.penstock

import java.util.ArrayDeque

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule

object Json {
  private val mapper = JsonMapper.builder().addModule(DefaultScalaModule).build()
  def write(value: Any): String = mapper.writeValueAsString(value)
  def read(text: String): Map[String, Any] = mapper.readValue(text, classOf[Map[String, Any]])
}

/**
 * What happened in this driver, oldest first, one JSON object each, numbered without a gap. Memory is bounded: the oldest go
 * first, and a reader that comes late is told how many it missed.
 */
object Facts {
  private val MaxBytes = 16L << 20
  private val facts = new ArrayDeque[String]()
  private var bytes = 0L
  private var next = 0L
  private var read = 0L

  /** The newest of what still holds, with its number: who comes late needs it, however long ago it was told. */
  private val standing = new java.util.LinkedHashMap[(String, Any), (Long, String)]()
  private val Standing = Map("driver" -> "application", "executor-added" -> "executor", "query-started" -> "query",
    "plan-in-force" -> "query", "unregulated" -> "query", "parked" -> "query")
  private val Ends = Map("executor-removed" -> "executor", "query-ended" -> "query")

  def add(kind: String, fields: (String, Any)*): Unit = synchronized {
    val json = Json.write(Map("fact" -> kind, "at_ms" -> System.currentTimeMillis()) ++ fields)
    def about(key: String) = fields.collectFirst { case (`key`, value) => value }.orNull
    Standing.get(kind).foreach { key => val k = (kind, about(key)); standing.remove(k); standing.put(k, (next, json)) }
    Ends.get(kind).foreach(key => Standing.foreach { case (k, `key`) => standing.remove((k, about(key))); case _ => })
    append(json)
  }

  private def append(json: String): Unit = {
    facts.addLast(json)
    bytes += json.length
    next += 1
    while (bytes > MaxBytes) bytes -= facts.pollFirst().length
    notifyAll()
  }

  case class Page(next: Long, missed: Long, facts: Seq[String]) {
    def text: String = (Json.write(Map("next" -> next, "missed" -> missed)) +: facts).mkString("", "\n", "\n")
  }

  /** Those that no reader has asked past. */
  def unread: Page = synchronized(from(read, 0))

  /** All from number `since` on; waits up to `waitMs` for the first. */
  def from(since: Long, waitMs: Long): Page = synchronized {
    read = math.max(read, since)
    val until = System.nanoTime() + waitMs * 1000000
    while (next <= since && System.nanoTime() < until) wait(math.max(1, (until - System.nanoTime()) / 1000000))
    val oldest = next - facts.size
    val skip = math.max(0, since - oldest)
    val page = Seq.newBuilder[String]
    var told = 0L
    standing.values.forEach { case (number, json) => if (number >= since && number < oldest) { page += json; told += 1 } }
    val it = facts.iterator()
    var i = 0L
    while (it.hasNext) { val f = it.next(); if (i >= skip) page += f; i += 1 }
    Page(next, math.max(0, oldest - since) - told, page.result())
  }
}
