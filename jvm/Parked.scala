package org.apache.spark.sql.penstock

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Cast, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types.{DataType, DoubleType}

/**
 * Work that costs time and no CPU: gives back its first argument, and the task owes so many microseconds of sleep for it, times
 * the slowness of its instance where one is given. The instance is the partition id of the task, which is so under the switch.
 */
case class Parked(left: Expression, right: Expression, slowness: Map[Int, Double]) extends BinaryExpression {
  override lazy val deterministic: Boolean = false // so that Spark neither runs it twice for a row nor moves it
  override def dataType: DataType = left.dataType
  override def nullable: Boolean = left.nullable

  override def eval(row: InternalRow): Any = {
    val value = left.eval(row)
    Option(right.eval(row)).foreach(micros => Parked.owe(micros.asInstanceOf[Double], slowness))
    value
  }

  override protected def doGenCode(context: CodegenContext, ev: ExprCode): ExprCode = {
    val (value, micros) = (left.genCode(context), right.genCode(context))
    val slow = context.addReferenceObj("slowness", slowness, "scala.collection.immutable.Map")
    val owe = code"if (!${micros.isNull}) org.apache.spark.sql.penstock.Parked.owe(${micros.value}, $slow);"
    ExprCode(code"${value.code}\n${micros.code}\n$owe", value.isNull, value.value)
  }

  override protected def withNewChildrenInternal(value: Expression, micros: Expression): Parked = copy(value, micros)
}

object Parked {
  private val SmallestParkNs = 2000000L // shorter sleeps are mostly their own overhead
  private class Debt { var ns = 0.0 }
  private val debts = new ConcurrentHashMap[Long, Debt]()
  private val told = ConcurrentHashMap.newKeySet[UUID]()

  /** For Python and Scala alike. */
  def column(value: Column, micros: Column, slowness: java.util.Map[Integer, java.lang.Double]): Column =
    ExpressionUtils.column(Parked(ExpressionUtils.expression(value), Cast(ExpressionUtils.expression(micros), DoubleType),
      slowness.asScala.map { case (instance, factor) => instance.intValue -> factor.doubleValue }.toMap))

  def owe(micros: Double, slowness: Map[Int, Double]): Unit = {
    val task = TaskContext.get()
    if (task != null && micros > 0) {
      val debt = debts.computeIfAbsent(task.taskAttemptId(), id => {
        task.addTaskCompletionListener[Unit] { _ => settle(task); debts.remove(id) }
        new Debt
      })
      debt.ns += micros * 1000 * slowness.getOrElse(task.partitionId(), 1.0)
      if (debt.ns >= SmallestParkNs) pay(debt)
    }
  }

  /** At the end of a substream, so that what it costs is counted as its own. */
  def settle(task: TaskContext): Unit = Option(debts.get(task.taskAttemptId())).foreach(pay)

  /** What a park takes too long is taken off the debt that follows. */
  private def pay(debt: Debt): Unit = if (debt.ns > 0) {
    val started = System.nanoTime()
    Thread.sleep(debt.ns.toLong / 1000000, (debt.ns % 1000000).toInt)
    debt.ns -= System.nanoTime() - started
  }

  /** Said once in each run of a query: its figures are of sleep, and whoever reads them must know. */
  def tell(query: StreamExecution, plan: SparkPlan): Unit = {
    if (told.size > 1000) told.clear() // bounded; to be told again does no harm
    if (!told.contains(query.runId) && plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[Parked]))) && told.add(query.runId))
      Facts.add("parked", "query" -> query.id.toString, "run" -> query.runId.toString)
  }
}
