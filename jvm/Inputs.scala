package org.apache.spark.sql.penstock

import java.net.URI
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.column.statistics.LongStatistics
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.runtime.{FileStreamSource, FileStreamSourceLog, FileStreamSourceOffset, SerializedOffset, StreamExecution}

/**
 * Watches the directories that file sources read, so that what arrives is known before, and whether or not, a batch takes it.
 * Kafka's growth is in Spark's own progress. A directory that is slow to list is listed less often.
 */
object Inputs extends Logging {
  private val PulseMs = 500L
  private val Ingress = "ingress_us" // as Penstock's load generator calls it
  private val ListingShare = 5 // a slow listing is not begun again at once
  private val LongestPauseNs = 2000000000L
  private val watched = new ConcurrentHashMap[UUID, Seq[Directory]]()
  private val taken = new ConcurrentHashMap[UUID, Map[String, String]]()
  private lazy val pulse = new Thread(() => loop(), "penstock-inputs")

  /** Called by the query's own thread before its first batch of this run: what it took before is not news. */
  def watch(query: StreamExecution): Unit = synchronized {
    taken.put(query.id, query.committedOffsets.toSeq.collect { case (s: FileStreamSource, offset) => s.toString -> offset.json }.toMap)
    watched.put(query.id, Seq.empty)
    if (pulse.getState == Thread.State.NEW) { pulse.setDaemon(true); pulse.start() }
  }

  def forget(query: UUID): Unit = { watched.remove(query); taken.remove(query) }

  private def loop(): Unit = while (true) {
    Thread.sleep(PulseMs)
    watched.keySet.asScala.foreach(look)
  }

  /** Two threads look: the pulse, and the listener's before it tells of a batch. */
  def look(id: UUID): Unit = synchronized {
    try report(id) catch { case NonFatal(e) => logDebug("an input could not be listed", e) }
  }

  private def report(id: UUID): Unit = {
    if (Option(watched.get(id)).exists(_.isEmpty)) Queries.find(id).foreach(q => watched.replace(id, directories(q)))
    Option(watched.get(id)).toSeq.flatten.filter(_.due).foreach { d =>
      d.fresh().grouped(500).foreach { files =>
        Facts.add("arrivals", "query" -> id.toString, "source" -> d.source,
          "files" -> files.map(f => Seq(f.visibleAtMs, f.bytes, f.footer.map(_.rows), f.footer.flatMap(_.ingressUs))))
      }
    }
  }

  /** Empty until the query has seen its first offsets. */
  private def directories(query: StreamExecution): Seq[Directory] = query.availableOffsets.keys.toSeq.collect {
    case s: FileStreamSource =>
      val path = new Path(s.toString.stripPrefix("FileStreamSource[").stripSuffix("]"))
      val before = Option(taken.get(query.id)).flatMap(_.get(s.toString)).map(takenFiles(s, _)).getOrElse(Seq.empty)
      new Directory(s.toString, path, query.sparkSessionForStream.sessionState.newHadoopConf(), before)
  }

  /** The source keeps a log of the files of each batch, but no way in. */
  private def takenFiles(source: FileStreamSource, offset: String): Seq[String] = try {
    val field = classOf[FileStreamSource].getDeclaredField("metadataLog")
    field.setAccessible(true)
    val last = FileStreamSourceOffset(SerializedOffset(offset)).logOffset
    field.get(source).asInstanceOf[FileStreamSourceLog].allFiles().filter(_.batchId <= last).map(_.sparkPath.toPath.toString).toSeq
  } catch { case e: ReflectiveOperationException => logWarning("files taken by earlier runs are not known", e); Seq.empty }

  /** Of Parquet: its rows, and the first and last ingress time where they carry one. */
  case class Footer(rows: Long, ingressUs: Option[Seq[Long]])
  case class Arrived(visibleAtMs: Long, bytes: Long, footer: Option[Footer])

  /** Files appear in it, or are committed to its `_spark_metadata` where another query's file sink writes it. */
  class Directory(val source: String, path: Path, conf: Configuration, before: Seq[String]) {
    private val fs = path.getFileSystem(conf)
    private val seen = mutable.HashSet.from(before)
    private var nextNs = System.nanoTime()

    def due: Boolean = System.nanoTime() >= nextNs

    def fresh(): Seq[Arrived] = {
      val started = System.nanoTime()
      val log = new Path(path, "_spark_metadata")
      val found = (if (fs.exists(log)) committed(log) else listed()).sortBy(_.visibleAtMs)
      val now = System.nanoTime()
      nextNs = now + math.min((now - started) * ListingShare, LongestPauseNs)
      found
    }

    private def listed(): Seq[Arrived] = {
      val files = fs.globStatus(path).toSeq.flatMap(s => if (s.isDirectory) fs.listStatus(s.getPath).toSeq else Seq(s))
      files.filter(f => f.isFile && visible(f.getPath) && isNew(f)).map(f => Arrived(f.getModificationTime, f.getLen, footer(f)))
    }

    private def committed(log: Path): Seq[Arrived] = for {
      entry <- fs.listStatus(log).toSeq.filter(f => visible(f.getPath) && isNew(f)).sortBy(_.getModificationTime)
      file <- lines(entry.getPath).drop(1).map(Json.read)
      bytes = file("size").asInstanceOf[Number].longValue
      status = new FileStatus(bytes, false, 0, 0, entry.getModificationTime, new Path(new URI(file("path").toString)))
      if isNew(status)
    } yield Arrived(entry.getModificationTime, status.getLen, footer(status))

    private def visible(p: Path): Boolean = !p.getName.startsWith("_") && !p.getName.startsWith(".")
    private def isNew(f: FileStatus): Boolean = seen.add(f.getPath.toString)

    private def lines(p: Path): Seq[String] = {
      val in = fs.open(p)
      try scala.io.Source.fromInputStream(in, "UTF-8").getLines().toList finally in.close()
    }

    /** Parquet says in its footer what it holds; of other formats only the bytes are known. */
    private def footer(f: FileStatus): Option[Footer] =
      if (!f.getPath.getName.endsWith(".parquet")) None
      else try {
        val reader = ParquetFileReader.open(HadoopInputFile.fromPath(f.getPath, conf))
        try Some(Footer(reader.getRecordCount, ingress(reader))) finally reader.close()
      } catch { case NonFatal(_) => None }

    private def ingress(reader: ParquetFileReader): Option[Seq[Long]] = {
      val known = for {
        block <- reader.getFooter.getBlocks.asScala.toSeq
        column <- block.getColumns.asScala if column.getPath.toDotString == Ingress
        statistics <- Option(column.getStatistics).collect { case s: LongStatistics if s.hasNonNullValue => s }
      } yield statistics
      if (known.isEmpty) None else Some(Seq(known.map(_.getMin).min, known.map(_.getMax).max))
    }
  }
}
