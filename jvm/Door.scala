package org.apache.spark.sql.penstock

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * The door: Java's ServiceLoader finds it in every session whose class path holds the jar. It uses no key of Spark's
 * configuration, which belongs to the user. Whatever fails here must leave the user's job as it was.
 */
class Door extends SparkSessionExtensionsProvider with Logging {
  override def apply(extensions: SparkSessionExtensions): Unit =
    if (!Door.closed) try {
      extensions.injectColumnar(_ => new ColumnarRule {
        override def postColumnarTransitions: Rule[SparkPlan] = SwitchRule
      })
      val sc = SparkContext.getOrCreate()
      FastLocal.use(sc.hadoopConfiguration)
      Agent.startOnce(sc)
    } catch {
      case NonFatal(e) => logWarning("Penstock steps aside: the job runs as if it were not there", e)
    }
}

object Door {
  /** The off switch: with it set, the jar is on the class path and does nothing. */
  def closed: Boolean = Option(System.getenv("PENSTOCK_OFF")).exists(v => v.nonEmpty && v != "0")
}
