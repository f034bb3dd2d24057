package org.apache.spark.sql.penstock

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermission
import java.util.EnumSet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FileStatus, FsServerDefaults, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.local.LocalConfigKeys
import org.apache.hadoop.fs.permission.FsPermission

/** Local files without a forked process for each permission and link: what Hadoop does where its native library is absent. */
class FastRawFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val granted = EnumSet.noneOf(classOf[PosixFilePermission])
    // The values are declared from owner-read (0400) down to others-execute (0001).
    PosixFilePermission.values.zipWithIndex.foreach { case (p, i) => if ((permission.toShort & (256 >> i)) != 0) granted.add(p) }
    Files.setPosixFilePermissions(pathToFile(path).toPath, granted)
  }

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}

class FastRawLocal(uri: URI, conf: Configuration) extends DelegateToFileSystem(uri, new FastRawFiles, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
  override def getServerDefaults(): FsServerDefaults = LocalConfigKeys.getServerDefaults
  override def isValidName(name: String): Boolean = true
}

/** For `fs.AbstractFileSystem.file.impl`, which checkpoints use. Checksums as in Hadoop's own. */
class FastLocal(uri: URI, conf: Configuration) extends ChecksumFs(new FastRawLocal(uri, conf)) {
  def this(conf: Configuration) = this(URI.create("file:///"), conf)
}

object FastLocal {
  private val Key = "fs.AbstractFileSystem.file.impl"

  /** Only in place of Hadoop's default: one that the user chose stays. */
  def use(conf: Configuration): Unit =
    if (conf.get(Key) == "org.apache.hadoop.fs.local.LocalFs") conf.set(Key, classOf[FastLocal].getName)
}
