package org.apache.spark.sql.penstock

import java.net.{InetAddress, InetSocketAddress}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}
import java.security.MessageDigest
import java.util.UUID
import java.util.concurrent.Executors.newFixedThreadPool
import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.util.ShutdownHookManager

/** One regulator at a time: who has the lease changes plans; it lapses when it is not renewed. */
object Lease {
  private var holder = ""
  private var lease = ""
  private var untilNs = 0L

  def take(wanted: String, renewing: Option[String], ttlS: Double): Either[String, String] = synchronized {
    val free = System.nanoTime() >= untilNs
    if (!free && !renewing.contains(lease)) Left(holder)
    else {
      if (!renewing.contains(lease)) lease = UUID.randomUUID().toString
      holder = wanted
      untilNs = System.nanoTime() + (math.min(ttlS, 300) * 1e9).toLong
      Right(lease)
    }
  }

  def holds(candidate: Any): Boolean = synchronized(lease.nonEmpty && candidate == lease && System.nanoTime() < untilNs)
  def release(candidate: Any): Unit = synchronized { if (candidate == lease) untilNs = 0 }
}

/** Penstock's ear and hand in this driver, over HTTP on loopback. It is there only where a run directory was named. */
object Agent extends Logging {
  private val application = new AtomicReference("")

  def startOnce(sc: SparkContext): Unit = Option(System.getenv("PENSTOCK_RUN")).filter(_.nonEmpty).foreach { run =>
    if (application.getAndSet(sc.applicationId) != sc.applicationId) {
      if (!sc.isLocal) sc.addJar(Path.of(getClass.getProtectionDomain.getCodeSource.getLocation.toURI).toString) // the executors' copy
      Facts.add("driver", driver(sc).toSeq: _*)
      Ear.listen(sc)
      serve(Path.of(run))
    }
  }

  private def driver(sc: SparkContext): Map[String, Any] = Map(
    "application" -> sc.applicationId, "name" -> sc.appName, "master" -> sc.master, "spark" -> sc.version,
    "pid" -> ProcessHandle.current().pid(), "slots" -> sc.defaultParallelism, "cores" -> Runtime.getRuntime.availableProcessors,
    "dynamic_allocation" -> sc.getConf.getBoolean("spark.dynamicAllocation.enabled", false))

  private var server: HttpServer = _

  private def serve(run: Path): Unit = if (server == null) {
    val token = Files.readString(run.resolve("token")).trim
    val address = Option(System.getenv("PENSTOCK_BIND")).map(InetAddress.getByName).getOrElse(InetAddress.getLoopbackAddress)
    server = HttpServer.create(new InetSocketAddress(address, 0), 0)
    server.setExecutor(newFixedThreadPool(4, r => { val t = new Thread(r, "penstock-agent"); t.setDaemon(true); t }))
    server.createContext("/", x => new Request(x, token).answer())
    server.start()
    write(run, "url", s"http://${address.getHostAddress}:${server.getAddress.getPort}\n")
    // After Spark has stopped, and said all it has to say: the reader may not come again before this driver is gone.
    ShutdownHookManager.addShutdownHook(ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY - 10)(() => write(run, "last-facts", Facts.unread.text))
  }

  /** Appears whole: who waits for it never reads half of it. */
  private def write(run: Path, name: String, text: String): Unit = {
    val fresh = Files.writeString(run.resolve(s"$name.tmp"), text)
    Files.move(fresh, run.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
  }
}

class Request(x: HttpExchange, token: String) {
  def answer(): Unit = try {
    val (code, body) = if (authorized) try handled catch {
      case e: StalePlan => 409 -> Json.write(Map("error" -> e.getMessage))
      case NonFatal(e) => 400 -> Json.write(Map("error" -> Option(e.getMessage).getOrElse(e.toString)))
    } else 401 -> ""
    val bytes = body.getBytes(UTF_8)
    x.sendResponseHeaders(code, if (bytes.isEmpty) -1 else bytes.length)
    x.getResponseBody.write(bytes)
  } finally x.close()

  private def authorized: Boolean = Option(x.getRequestHeaders.getFirst("Authorization"))
    .exists(h => MessageDigest.isEqual(h.getBytes(UTF_8), s"Bearer $token".getBytes(UTF_8)))

  private def handled: (Int, String) = (x.getRequestMethod, x.getRequestURI.getPath) match {
    case ("GET", "/facts") =>
      200 -> Facts.from(number("since", 0), math.min(number("wait_ms", 0), 10000)).text
    case ("GET", "/state") => 200 -> Json.write(state)
    case ("POST", "/lease") => lease(body)
    case ("POST", "/release") => Lease.release(body.getOrElse("lease", null)); 200 -> "{}"
    case ("POST", "/plans") if !Lease.holds(body.getOrElse("lease", null)) =>
      403 -> Json.write(Map("error" -> "who changes plans holds the lease"))
    case ("POST", "/plans") => 200 -> Json.write(Map("version" -> want(body)))
    case (method, path) => 404 -> Json.write(Map("error" -> s"there is no $method $path"))
  }

  private lazy val body: Map[String, Any] = Json.read(new String(x.getRequestBody.readAllBytes(), UTF_8))

  private def number(key: String, otherwise: Long): Long =
    Option(x.getRequestURI.getQuery).toSeq.flatMap(_.split('&')).collectFirst { case s"$k=$v" if k == key => v.toLong }.getOrElse(otherwise)

  private def lease(b: Map[String, Any]): (Int, String) =
    Lease.take(b("holder").toString, b.get("lease").map(_.toString), b("ttl_s").asInstanceOf[Number].doubleValue) match {
      case Right(lease) => 200 -> Json.write(Map("lease" -> lease, "version" -> Plans.version))
      case Left(other) => 409 -> Json.write(Map("error" -> s"$other holds the lease"))
    }

  private def want(b: Map[String, Any]): Long = {
    val plans = b("plans").asInstanceOf[Map[String, Map[String, Any]]].map { case (id, p) => UUID.fromString(id) -> p }
    plans.keys.foreach(id => require(Queries.find(id).isDefined, s"no query $id runs here"))
    Plans.want(b("version").asInstanceOf[Number].longValue, plans)
  }

  private def state: Map[String, Any] = Map("version" -> Plans.version, "executors" -> Executors.all,
    "queries" -> Queries.all.map(q => Map("query" -> q.id.toString, "run" -> q.runId.toString, "name" -> q.name) ++ Plans.state(q.id)))
}
