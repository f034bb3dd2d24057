package org.apache.spark.sql.penstock

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{NarrowDependency, OneToOneDependency, Partition, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition
import org.apache.spark.sql.execution.streaming.state.StateStoreThreadLocalTracker
import org.apache.spark.util.AccumulatorV2

/** Runs the partitions of its stage as the tasks that the batch's plan says, and counts each of them. */
case class SwitchExec(stage: String, batch: Batch, ordered: Boolean, child: SparkPlan) extends UnaryExecNode with Logging {
  override def output: Seq[Attribute] = child.output
  // Rows of a key stay together, but a hash of the key no longer tells where: joins on the batch must not rely on it.
  override def outputPartitioning: Partitioning = UnknownPartitioning(0)
  override def outputOrdering: Seq[SortOrder] = Nil
  // Two switches over the same child are the same computation: Spark may reuse its exchange.
  override protected def doCanonicalize(): SparkPlan = SwitchExec("", Batch(null, null, 0, None), ordered, child.canonicalized)
  override protected def withNewChildInternal(newChild: SparkPlan): SwitchExec = copy(child = newChild)

  override protected def doExecute(): RDD[InternalRow] = {
    val rdd = child.execute()
    try switched(rdd) catch {
      case NonFatal(e) =>
        logWarning(s"Penstock leaves stage $stage of query ${batch.query} alone", e)
        Facts.add("passed-through", "query" -> batch.query.toString, "stage" -> stage, "why" -> e.toString)
        rdd
    }
  }

  private def switched(rdd: RDD[InternalRow]): RDD[InternalRow] =
    if (rdd.isBarrier() || rdd.getNumPartitions == 0) rdd
    else {
      val stateful = stage.startsWith("state")
      val groups = Groups.of(rdd, batch.plan, stateful, ordered)
      val tally = new Tally
      sparkContext.register(tally)
      Reports.open(batch, StageReport(stage, stateful, groups, tally))
      new SwitchRDD(rdd, groups, tally, Groups.preferred(batch.plan))
    }
}

/** One task: an instance with its partitions. */
class Slot(val index: Int, val instance: Int, val members: Array[Int], val parents: Array[Partition]) extends Partition

/** Which partitions each task runs, in order; `substreams(i)` is the state partition behind partition i, -1 where there is none. */
case class Groups(instances: Array[Int], members: Array[Array[Int]], substreams: Array[Int])

object Groups {
  def of(rdd: RDD[_], plan: Option[Plan], stateful: Boolean, ordered: Boolean): Groups = {
    val n = rdd.getNumPartitions
    val substreams = if (stateful) statePartitions(rdd) else Array.fill(n)(-1)
    val instanceOf = plan match {
      case None => Array.tabulate(n)(identity)
      case Some(p) if ordered => Array.tabulate(n)(i => (i.toLong * math.min(p.parallelism, n) / n).toInt)
      case Some(p) if stateful => byAssignment(substreams, p)
      case Some(p) => sizes(rdd).map(bySize(_, p.parallelism)).getOrElse(Array.tabulate(n)(_ % p.parallelism))
    }
    val used = instanceOf.distinct.sorted
    Groups(used, used.map(i => instanceOf.indices.filter(instanceOf(_) == i).toArray), substreams)
  }

  private def byAssignment(substreams: Array[Int], plan: Plan): Array[Int] = substreams.zipWithIndex.map { case (s, i) =>
    plan.instanceOf.filter(a => s >= 0 && s < a.size).map(_(s)).getOrElse((if (s >= 0) s else i) % plan.parallelism)
  }

  /** The largest first, each to the task that has least: within 4/3 of the best. */
  private def bySize(sizes: Array[Long], parallelism: Int): Array[Int] = {
    val load = new Array[Long](math.min(parallelism, sizes.length))
    val instanceOf = new Array[Int](sizes.length)
    sizes.indices.sortBy(-sizes(_)).foreach { i =>
      val least = load.indices.minBy(load(_))
      instanceOf(i) = least
      load(least) += math.max(1L, sizes(i))
    }
    instanceOf
  }

  /** Above a union, partition i of the stage is a partition of one of its branches, counted from that branch's own 0. */
  private def statePartitions(rdd: RDD[_]): Array[Int] = rdd match {
    case union: UnionRDD[_] => union.rdds.flatMap(statePartitions(_)).toArray
    case other => oneToOneParent(other).map(statePartitions).getOrElse(Array.tabulate(other.getNumPartitions)(identity))
  }

  private def sizes(rdd: RDD[_]): Option[Array[Long]] = oneToOneParent(rdd) match {
    case Some(parent) => sizes(parent)
    case None =>
      val known = rdd.partitions.map(sizeOf)
      if (known.forall(_.isDefined)) Some(known.map(_.get)) else None
  }

  private def sizeOf(partition: Partition): Option[Long] = partition match {
    case f: FilePartition => Some(f.files.map(_.length).sum)
    case d: DataSourceRDDPartition => d.inputPartition.flatMap(kafkaRows)
    case _ => None
  }

  /** Kafka's connector is not on the class path that this is compiled with. */
  private def kafkaRows(partition: AnyRef): Option[Long] = try {
    val range = partition.getClass.getMethod("offsetRange").invoke(partition)
    Some(range.getClass.getMethod("size").invoke(range).asInstanceOf[Long])
  } catch { case _: ReflectiveOperationException => None }

  private def oneToOneParent(rdd: RDD[_]): Option[RDD[_]] = rdd.dependencies match {
    case Seq(d: OneToOneDependency[_]) => Some(d.rdd)
    case _ => None
  }

  /** With no placement stated there is no preference of ours: Spark then takes the first substream's. */
  def preferred(plan: Option[Plan]): Map[Int, String] = (for {
    executors <- plan.flatMap(_.executors).toSeq
    (id, instance) <- executors.zipWithIndex
    host <- Executors.hostOf(id)
  } yield instance -> ExecutorCacheTaskLocation(host, id).toString).toMap
}

class SwitchRDD(parent: RDD[InternalRow], groups: Groups, tally: Tally, preferred: Map[Int, String])
    extends RDD[InternalRow](parent.context, Seq(new NarrowDependency[InternalRow](parent) {
      override def getParents(task: Int): Seq[Int] = groups.members(task).toSeq
    })) {

  override def getPartitions: Array[Partition] = {
    val parents = firstParent[InternalRow].partitions
    groups.members.zipWithIndex.map { case (m, i) => new Slot(i, groups.instances(i), m, m.map(parents(_))) }
  }

  override def getPreferredLocations(split: Partition): Seq[String] = preferred.get(split.asInstanceOf[Slot].instance).toSeq

  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] = {
    val slot = split.asInstanceOf[Slot]
    slot.members.iterator.zip(slot.parents.iterator).flatMap { case (member, partition) =>
      // Spark keeps the store that an aggregation reads in the thread until the task ends: the next substream has its own.
      StateStoreThreadLocalTracker.clearStore()
      new Counted(member, firstParent[InternalRow], partition, task, tally)
    }
  }
}

/** The rows of one substream, with what they cost: reported once, when they end or the task does. */
class Counted(member: Int, rdd: RDD[InternalRow], partition: Partition, task: TaskContext, tally: Tally) extends Iterator[InternalRow] {
  private val before = Reading.now(task)
  private val started = System.nanoTime()
  private val rows = rdd.iterator(partition, task)
  private var out = 0L
  private var open = true
  task.addTaskCompletionListener[Unit](_ => close()) // a limit may stop before the end

  override def hasNext: Boolean = rows.hasNext || { close(); false }
  override def next(): InternalRow = { out += 1; rows.next() }

  private def close(): Unit = if (open) {
    open = false
    Parked.settle(task)
    val now = Reading.now(task)
    val wall = System.nanoTime() - started
    tally.add(Cost(member, now.rows - before.rows, out, wall, now.cpuNs - before.cpuNs, (now.fetchWaitMs - before.fetchWaitMs) * 1000000))
  }
}

case class Cost(member: Int, rowsIn: Long, rowsOut: Long, wallNs: Long, cpuNs: Long, fetchWaitNs: Long)

/** The task's own counters at a border between substreams. */
case class Reading(rows: Long, cpuNs: Long, fetchWaitMs: Long)

object Reading {
  private val threads = ManagementFactory.getThreadMXBean
  def now(task: TaskContext): Reading = {
    val metrics = task.taskMetrics()
    metrics.mergeShuffleReadMetrics()
    val shuffle = metrics.shuffleReadMetrics
    Reading(metrics.inputMetrics.recordsRead + shuffle.recordsRead, threads.getCurrentThreadCpuTime, shuffle.fetchWaitTime)
  }
}

/** One cost for each partition of a stage: retried and speculated tasks replace their own. Without a name: kept out of Spark's UI. */
class Tally extends AccumulatorV2[Cost, Map[Int, Cost]] {
  private val costs = new java.util.concurrent.ConcurrentHashMap[Int, Cost]()
  override def isZero: Boolean = costs.isEmpty
  override def copy(): Tally = { val t = new Tally; t.costs.putAll(costs); t }
  override def reset(): Unit = costs.clear()
  override def add(cost: Cost): Unit = costs.put(cost.member, cost)
  override def merge(other: AccumulatorV2[Cost, Map[Int, Cost]]): Unit = other.value.values.foreach(add)
  override def value: Map[Int, Cost] = costs.asScala.toMap
}
