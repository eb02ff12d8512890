package sallyport.crypto

import sallyport.common._

/** Writes the crypto chip's SystemVerilog: `--out FOLDER --version M.m.p [--small]`, into FOLDER/crypto. */
object Elaborate {

  /** The smallest useful configuration: one lane, few SAs. */
  private def small(version: String) =
    CryptoConfig(saBits = 6, lanes = 1, laneBeats = 256, linkBeats = 256, version = version)

  def main(args: Array[String]): Unit = {
    val options = Elaboration.parse(args)
    val config = if (options.small.value) small(options.version) else CryptoConfig(version = options.version)
    Emit(new CryptoCore(config), options.folder("crypto"))
  }
}
