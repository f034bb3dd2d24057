package users

import java.util.{Collections, Map => JavaMap}

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, Literal}
import org.apache.spark.sql.streaming.Trigger

/** For `spark.sql.extensions`: a function of the user's own. */
class Extension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectFunction((new FunctionIdentifier("users_answer"),
      new ExpressionInfo(classOf[Extension].getName, "users_answer"), (_: Seq[Expression]) => Literal(42)))
}

/** For `spark.plugins`: it leaves a mark in the driver. */
class Plugin extends SparkPlugin {
  override def executorPlugin(): ExecutorPlugin = null
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(sc: SparkContext, context: PluginContext): JavaMap[String, String] = {
      System.setProperty("users.plugin", "on")
      Collections.emptyMap()
    }
  }
}

/** For `spark.jars`: it runs in the executors. */
class Twice extends UDF1[Long, Long] {
  override def call(value: Long): Long = 2 * value
}

/** An application for `spark-submit --class users.App`: a query without a name, until somebody stops it. */
object App {
  def main(words: Array[String]): Unit = {
    val spark = SparkSession.builder().getOrCreate()
    val rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    val query = rows.selectExpr("value % 7 AS word").groupBy("word").count().writeStream.outputMode("update")
      .format("noop").trigger(Trigger.ProcessingTime("300 milliseconds")).start()
    println(s"the users' application runs with ${words.mkString(" ")}")
    query.awaitTermination()
  }
}
