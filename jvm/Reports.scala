package org.apache.spark.sql.penstock

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

case class StageReport(stage: String, stateful: Boolean, groups: Groups, tally: Tally) {
  def json: Map[String, Any] = {
    val n = groups.substreams.length
    val instance = new Array[Int](n)
    for ((members, i) <- groups.members.zip(groups.instances); m <- members) instance(m) = i
    val costs = tally.value
    def column(f: Cost => Long): Seq[Long] = (0 until n).map(i => costs.get(i).map(f).getOrElse(0L))
    Map("stage" -> stage, "stateful" -> stateful, "substream" -> groups.substreams, "instance" -> instance,
      "rows_in" -> column(_.rowsIn), "rows_out" -> column(_.rowsOut), "wall_ns" -> column(_.wallNs),
      "cpu_ns" -> column(_.cpuNs), "fetch_wait_ns" -> column(_.fetchWaitNs))
  }
}

/**
 * What the switches of a batch counted, until the batch is over. A plan that runs more than once in its batch (orderBy samples,
 * a foreachBatch function has two actions) is counted once: the last run of a stage that saw rows stands for it.
 */
object Reports {
  private val open = new ConcurrentHashMap[UUID, java.util.TreeMap[Long, Vector[StageReport]]]()

  def open(batch: Batch, report: StageReport): Unit =
    open.compute(batch.query, (_, old) => {
      val batches = if (old == null) new java.util.TreeMap[Long, Vector[StageReport]]() else old
      while (batches.size > 8) batches.pollFirstEntry() // a batch that failed never closes
      batches.merge(batch.id, Vector(report), _ ++ _)
      batches
    })

  def close(query: UUID, batch: Long): Seq[Map[String, Any]] = {
    var reports = Vector.empty[StageReport]
    open.computeIfPresent(query, (_, batches) => {
      reports = Option(batches.get(batch)).getOrElse(Vector.empty)
      batches.headMap(batch, true).clear()
      batches
    })
    reports.groupBy(_.stage).values.map(runs => runs.filterNot(_.tally.isZero).lastOption.getOrElse(runs.last).json).toSeq
  }

  def forget(query: UUID): Unit = open.remove(query)
}
