// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

import java.nio.file.{Files, Path, Paths}

/**
 * The Wycheproof test vectors of AEAD ciphers and MACs, read from `shared/vectors` beside the
 * repository: from the folder that the environment's SALLYPORT_VECTORS names, or else from the
 * first `../shared/vectors` going up from the working folder.
 */
object Wycheproof {

  /** A MAC has no `iv`, `aad` and `ct`; a truncated one has a short `tag`. */
  case class Case(
      id: Int,
      valid: Boolean,
      key: Array[Byte],
      iv: Array[Byte],
      aad: Array[Byte],
      msg: Array[Byte],
      ct: Array[Byte],
      tag: Array[Byte]
  )

  val absent = "no test vectors: set SALLYPORT_VECTORS to the folder that holds Wycheproof's aes_gcm.json"

  private def folder: Option[Path] = {
    val named = sys.env.get("SALLYPORT_VECTORS").map(Paths.get(_))
    val up =
      Iterator.iterate(Paths.get("").toAbsolutePath)(_.getParent).takeWhile(_ != null).map(_.resolve("shared/vectors"))
    (named.iterator ++ up).find(Files.isDirectory(_))
  }

  /** Every case of a file; none if there is no such folder. */
  def load(name: String): Option[Seq[Case]] = folder.map { path =>
    // Each case is a flat object that starts with its tcId, so two patterns read the fields that
    // the tests need.
    val cases = Files.readString(path.resolve(name)).split("\"tcId\"").toSeq.tail
    cases.map { text =>
      val number = raw"^\s*:\s*(\d+)".r.findFirstMatchIn(text).get.group(1).toInt
      val fields =
        """\"(\w+)\"\s*:\s*\"([^\"]*)\"""".r.findAllMatchIn(text).map(m => m.group(1) -> m.group(2)).toSeq.reverse.toMap
      def bytes(field: String) = Bytes.fromHex(fields.getOrElse(field, ""))
      Case(
        number,
        fields("result") == "valid",
        bytes("key"),
        bytes("iv"),
        bytes("aad"),
        bytes("msg"),
        bytes("ct"),
        bytes("tag")
      )
    }
  }
}
