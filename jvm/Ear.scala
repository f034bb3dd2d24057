package org.apache.spark.sql.penstock

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.scheduler._
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.util.Utils

/** The executors that are there now. The driver itself is one in local mode. */
object Executors {
  private val hosts = new ConcurrentHashMap[String, String]()
  def hostOf(id: String): Option[String] = Option(hosts.get(id))
  def add(id: String, host: String): Boolean = hosts.put(id, host) == null
  def remove(id: String): Unit = hosts.remove(id)
  def all: Map[String, String] = hosts.asScala.toMap
}

/** Listens on a queue of its own, and turns what it hears into facts. It decides nothing. */
class Ear extends SparkListener {
  override def onExecutorAdded(e: SparkListenerExecutorAdded): Unit =
    Ear.added(e.executorId, e.executorInfo.executorHost, e.executorInfo.totalCores)

  override def onExecutorRemoved(e: SparkListenerExecutorRemoved): Unit = {
    Executors.remove(e.executorId)
    Facts.add("executor-removed", "executor" -> e.executorId, "why" -> e.reason)
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case e: QueryStartedEvent =>
      Facts.add("query-started", Ear.query(e.id, e.runId, e.name) ++ Queries.described(e.id): _*)
    case e: QueryProgressEvent =>
      val p = e.progress
      Inputs.look(p.id) // what a batch took is told as arrived before it is told as done
      Facts.add("progress", Ear.query(p.id, p.runId, p.name) ++ Seq("batch" -> p.batchId,
        "progress" -> Json.read(p.json), "stages" -> Reports.close(p.id, p.batchId)): _*)
    case e: QueryIdleEvent => Facts.add("query-idle", "query" -> e.id.toString)
    case e: QueryTerminatedEvent =>
      Plans.forget(e.id)
      Reports.forget(e.id)
      Inputs.forget(e.id)
      Facts.add("query-ended", "query" -> e.id.toString, "run" -> e.runId.toString, "error" -> e.exception)
    case _ =>
  }
}

object Ear {
  private def query(id: java.util.UUID, run: java.util.UUID, name: String): Seq[(String, Any)] =
    Seq("query" -> id.toString, "run" -> run.toString, "name" -> name)

  def listen(sc: SparkContext): Unit = {
    sc.listenerBus.addToQueue(new Ear, "penstock")
    // Those that were announced before anyone could listen: the driver's own in local mode, and all that the context waited for.
    if (sc.isLocal) added(SparkContext.DRIVER_IDENTIFIER, "localhost", sc.defaultParallelism)
    else sc.statusStore.executorList(true).filter(_.id != SparkContext.DRIVER_IDENTIFIER)
      .foreach(e => added(e.id, Utils.parseHostPort(e.hostPort)._1, e.totalCores))
  }

  private def added(id: String, host: String, slots: Int): Unit =
    if (Executors.add(id, host)) Facts.add("executor-added", "executor" -> id, "host" -> host, "slots" -> slots)
}
