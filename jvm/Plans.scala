package org.apache.spark.sql.penstock

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution

/**
 * How a query is to run. Parallelism bounds the tasks of each stage; `instanceOf(substream)` is the assignment where one was
 * given, else substreams go round; `executors(instance)` is the placement where one was given.
 */
case class Plan(version: Long, parallelism: Int, instanceOf: Option[IndexedSeq[Int]], executors: Option[IndexedSeq[String]]) {
  def json: Map[String, Any] =
    Map("version" -> version, "parallelism" -> parallelism, "instance_of" -> instanceOf, "executors" -> executors)
}

object Plan {
  def of(fields: Map[String, Any], version: Long): Plan = {
    def list[T](key: String)(f: Any => T) = fields.get(key).filter(_ != null).map(_.asInstanceOf[Iterable[Any]].map(f).toIndexedSeq)
    def int(x: Any) = x.asInstanceOf[Number].intValue
    val plan = Plan(version, int(fields("parallelism")), list("instance_of")(int), list("executors")(_.toString))
    require(plan.parallelism >= 1, s"parallelism is ${plan.parallelism}, it is at least 1")
    plan.instanceOf.foreach { a =>
      require(a.nonEmpty && a.forall(i => i >= 0 && i < plan.parallelism), s"the assignment names an instance outside 0 to ${plan.parallelism - 1}")
      require(a.distinct.size == plan.parallelism, "the assignment leaves an instance without a substream")
    }
    plan
  }
}

/** `<checkpoint>/_penstock`: one entry for each change, under the first batch that ran with it. Spark's own atomic log. */
class PlanLog(session: SparkSession, checkpoint: String)
    extends HDFSMetadataLog[Plan](session, new Path(checkpoint, "_penstock").toString) {
  override def serialize(plan: Plan, out: OutputStream): Unit = out.write(s"v1\n${Json.write(plan.json)}".getBytes(UTF_8))
  override def deserialize(in: InputStream): Plan = {
    val Array(format, json) = new String(in.readAllBytes(), UTF_8).split("\n", 2)
    validateVersion(format, 1)
    val fields = Json.read(json)
    Plan.of(fields, fields("version").asInstanceOf[Number].longValue)
  }

  def inForceAt(batch: Long): Option[Plan] = listBatchesOnDisk.filter(_ <= batch).maxOption.flatMap(get)

  /** Only the latest batch can be replayed; some more are kept for people. */
  def record(batch: Long, plan: Plan): Unit = {
    add(batch, plan)
    listBatchesOnDisk.sorted.dropRight(PlanLog.Kept).lastOption.foreach(last => purge(last + 1))
  }
}

object PlanLog { val Kept = 20 }

/** The plan of one run of a query, batch by batch. Used by that query's own thread only. */
class Course(query: StreamExecution) {
  val run: UUID = query.runId
  private lazy val log = new PlanLog(query.sparkSessionForStream, query.resolvedCheckpointRoot)
  private var batch = -1L
  private var plan: Option[Plan] = None

  /**
   * The first batch of a run may be a replay, so it runs under what was recorded for it; every later one is new and takes
   * what is wanted, once that is on disk.
   */
  def at(batchId: Long, wanted: Option[Plan]): Option[Plan] = {
    if (batch < 0) { plan = log.inForceAt(batchId); Inputs.watch(query) }
    else if (batchId != batch && wanted.isDefined && wanted != plan) { log.record(batchId, wanted.get); plan = wanted }
    batch = batchId
    plan
  }
}

/** What is wanted of each query, and what each is under. Once wanted, always wanted: the regulator may die (fail-static). */
object Plans {
  private val wanted = new ConcurrentHashMap[UUID, Plan]()
  private val courses = new ConcurrentHashMap[UUID, Course]()
  private val inForce = new ConcurrentHashMap[UUID, (Long, Plan)]()
  private var lastVersion = 0L

  def version: Long = synchronized(lastVersion)

  /** All of them or, where one is not valid, none. */
  def want(expected: Long, plans: Map[UUID, Map[String, Any]]): Long = synchronized {
    if (expected != lastVersion) throw new StalePlan(expected, lastVersion)
    val valid = plans.map { case (query, fields) => query -> Plan.of(fields, lastVersion + 1) }
    valid.foreach { case (query, plan) => wanted.put(query, plan) }
    lastVersion += 1
    lastVersion
  }

  def of(query: StreamExecution, batchId: Long): Option[Plan] = {
    val course = courses.compute(query.id, (_, c) => if (c == null || c.run != query.runId) new Course(query) else c)
    val plan = course.at(batchId, Option(wanted.get(query.id)))
    plan.foreach { p =>
      synchronized { lastVersion = math.max(lastVersion, p.version) }
      val before = inForce.put(query.id, (batchId, p))
      if (before == null || before._2 != p)
        Facts.add("plan-in-force", "query" -> query.id.toString, "batch" -> batchId, "plan" -> p.json)
    }
    plan
  }

  def forget(query: UUID): Unit = { courses.remove(query); inForce.remove(query) }

  def state(query: UUID): Map[String, Any] =
    Map("wanted" -> Option(wanted.get(query)).map(_.json), "in_force" -> Option(inForce.get(query)).map(_._2.json))
}

class StalePlan(expected: Long, current: Long) extends Exception(s"the plan was made for version $expected, version $current is current")
