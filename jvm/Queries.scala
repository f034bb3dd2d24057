package org.apache.spark.sql.penstock

import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution

/** The streaming queries that run in this driver, whichever session started them. */
object Queries {
  @volatile private var session: Option[SparkSession] = None

  private def shared = {
    if (session.isEmpty) session = SparkSession.getDefaultSession.orElse(SparkSession.getActiveSession)
    session.map(_.sharedState)
  }

  def find(id: UUID): Option[StreamExecution] = shared.flatMap(s => Option(s.activeStreamingQueries.get(id)))
  def all: Seq[StreamExecution] = shared.toSeq.flatMap(_.activeStreamingQueries.values.asScala)

  /** What a reader wants to know of a query when it starts. */
  def described(id: UUID): Seq[(String, Any)] = find(id).toSeq.flatMap { q =>
    val conf = q.sparkSessionForStream.sessionState.conf
    Seq("checkpoint" -> q.resolvedCheckpointRoot, "trigger" -> q.trigger.toString, "output_mode" -> q.outputMode.toString,
      "shuffle_partitions" -> conf.numShufflePartitions)
  }
}
