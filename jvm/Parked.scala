package org.apache.spark.sql.penstock

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext
import org.apache.spark.sql.api.java.UDF2

/**
 * Work that costs time and no CPU: `parked(value, micros)` gives back its value and owes that much sleep. The debt is paid in
 * pieces that are long enough to park for truly, and the rest when the task ends, so that two cores can act as many slots.
 */
class Parked extends UDF2[Any, Double, Any] {
  override def call(value: Any, micros: Double): Any = { Parked.owe(micros); value }
}

object Parked {
  private val SmallestParkNs = 2000000L
  private class Debt { var ns = 0.0 }
  private val debts = new ConcurrentHashMap[Long, Debt]()

  def owe(micros: Double): Unit = {
    val task = TaskContext.get()
    if (task != null) {
      val debt = debts.computeIfAbsent(task.taskAttemptId(), id => { task.addTaskCompletionListener[Unit](_ => { pay(debts.remove(id)) }); new Debt })
      debt.ns += micros * 1000
      if (debt.ns >= SmallestParkNs) pay(debt)
    }
  }

  /** What a park takes too long is taken off the debt that follows. */
  private def pay(debt: Debt): Unit = if (debt != null && debt.ns > 0) {
    val started = System.nanoTime()
    Thread.sleep(debt.ns.toLong / 1000000, (debt.ns % 1000000).toInt)
    debt.ns -= System.nanoTime() - started
  }
}
