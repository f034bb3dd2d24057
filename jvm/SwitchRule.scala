package org.apache.spark.sql.penstock

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{SortExec, SparkPlan, StreamSourceAwareSparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.{ContinuousScanExec, RealTimeStreamScanExec, V2TableWriteExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeExec}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperator, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamExecution}

/** A batch of a query, and the plan it runs under. */
case class Batch(query: UUID, run: UUID, id: Long, plan: Option[Plan])

/**
 * Puts a switch at the end of every stage of a streaming query's plan: below each shuffle, and at the top. A plan that is not
 * a streaming query's own, or that it must not touch, is given back as it came.
 */
object SwitchRule extends Rule[SparkPlan] with Logging {
  override def apply(plan: SparkPlan): SparkPlan = queryOfThisThread match {
    case None => plan
    case Some(query) =>
      try {
        Parked.tell(query, plan)
        regulated(query, plan)
      } catch {
        case NonFatal(e) =>
          logWarning("Penstock leaves this batch alone", e)
          Unregulated.say(query, s"the switch could not be put into its plan: $e")
          plan
      }
  }

  private def queryOfThisThread: Option[StreamExecution] =
    SparkSession.getActiveSession.flatMap { session =>
      Option(session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY))
        .flatMap(id => Option(session.sharedState.activeStreamingQueries.get(UUID.fromString(id))))
    }

  private def regulated(query: StreamExecution, plan: SparkPlan): SparkPlan = query match {
    case _ if plan.isInstanceOf[AdaptiveSparkPlanExec] || !isOfTheStream(plan) => plan
    case micro: MicroBatchExecution if !Unregulated.needsAllTasksAtOnce(micro, plan) =>
      val id = micro.getLatestExecutionContext().batchId
      withSwitches(plan, Batch(query.id, query.runId, id, Plans.of(query, id)))
    case _ =>
      Unregulated.say(query, "continuous processing and real-time mode need all tasks at the same time")
      plan
  }

  /** A foreachBatch function's own queries run on the same thread, but hold neither a streaming scan nor a state operator. */
  private def isOfTheStream(plan: SparkPlan): Boolean = plan.exists {
    case s: StreamSourceAwareSparkPlan => s.getStream.isDefined
    case _: StatefulOperator | _: RealTimeStreamScanExec | _: ContinuousScanExec => true
    case stage: QueryStageExec => isOfTheStream(stage.plan)
    case _ => false
  }

  private def withSwitches(plan: SparkPlan, batch: Batch): SparkPlan = {
    val names = new StageNames
    val inner = plan.transformUp { case s: ShuffleExchangeExec => s.withNewChildren(Seq(switched(s.child, batch, names))) }
    inner match {
      case write: V2TableWriteExec => write.withNewChildren(Seq(switched(write.query, batch, names)))
      case exchange: Exchange => exchange
      case result => switched(result, batch, names)
    }
  }

  private def switched(stage: SparkPlan, batch: Batch, names: StageNames): SparkPlan = stage match {
    case _: SwitchExec | _: AdaptiveSparkPlanExec => stage // once is enough, and the inner plan gets its own
    case s: SortExec if !s.global => s.withNewChildren(Seq(switched(s.child, batch, names))) // a sink's order holds within a task
    case other => SwitchExec(names.of(other), batch, isOrdered(other), other)
  }

  /** Its partitions are ranges in order: they may only be joined to runs. */
  private def isOrdered(stage: SparkPlan): Boolean = StageNames.nodes(stage).exists {
    case s: ShuffleExchangeExec => s.outputPartitioning.isInstanceOf[RangePartitioning]
    case s: ShuffleQueryStageExec => s.shuffle.outputPartitioning.isInstanceOf[RangePartitioning]
    case _ => false
  }
}

/** Names that stay the same from batch to batch: by the state operators in the stage, else by what it reads. */
class StageNames {
  private val used = scala.collection.mutable.Map.empty[String, Int].withDefaultValue(0)

  def of(stage: SparkPlan): String = {
    val operators = StageNames.nodes(stage).collect { case s: StateStoreWriter => s.getStateInfo.operatorId }.distinct.sorted
    val stem = if (operators.nonEmpty) operators.mkString("state-", "-", "") else if (readsShuffle(stage)) "shuffled" else "source"
    used(stem) += 1
    if (used(stem) == 1) stem else s"$stem.${used(stem)}"
  }

  private def readsShuffle(stage: SparkPlan): Boolean =
    StageNames.nodes(stage).exists { case _: Exchange | _: ShuffleQueryStageExec => true; case _ => false }
}

object StageNames {
  /** The nodes of one stage: down to, and with, the exchanges it reads. */
  def nodes(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case e: Exchange => Seq(e)
    case p => p +: p.children.flatMap(nodes)
  }
}

/** Queries that run as if Penstock were not there, each said once with the reason. */
object Unregulated {
  private val said = ConcurrentHashMap.newKeySet[(UUID, String)]()

  def say(query: StreamExecution, why: String): Unit =
    if (said.size < 1000 && said.add((query.runId, why)))
      Facts.add("unregulated", "query" -> query.id.toString, "run" -> query.runId.toString, "why" -> why)

  def needsAllTasksAtOnce(query: MicroBatchExecution, plan: SparkPlan): Boolean =
    query.trigger.getClass.getSimpleName.contains("RealTime") || plan.exists(_.isInstanceOf[RealTimeStreamScanExec])
}
