// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto

import chisel3._
import sallyport.common.elaborate.Emit
import sallyport.crypto.cipher.{AesPipe, ChaChaPipe, Sm4Pipe}
import sallyport.crypto.hash.{GhashSum, HashKind, Poly1305Pipe, Sha1Pipe, Sha256Pipe, Sm3Pipe}
import sallyport.crypto.lane.HashEngine

import java.nio.file.Paths

/**
 * Writes each pipe alone, and the engine of the chained hashes with its four, into `FOLDER/<name>`,
 * for the figures in docs/explanation/performance.md; the one argument is FOLDER.
 */
object ElaboratePipes {
  def main(args: Array[String]): Unit = {
    def emit(name: String, pipe: => RawModule): Unit = Emit(pipe, Paths.get(args.head).resolve(name))
    emit("AesPipe", new AesPipe(UInt(0.W), 0))
    emit("AesEitherPipe", new AesPipe(UInt(0.W), 0, deciphers = true))
    emit("Sm4Pipe", new Sm4Pipe)
    emit("ChaChaPipe", new ChaChaPipe)
    emit("GhashSum", new GhashSum(32))
    emit("Sha256Pipe", new Sha256Pipe)
    emit("Sha1Pipe", new Sha1Pipe)
    emit("Sm3Pipe", new Sm3Pipe)
    emit("Poly1305Pipe", new Poly1305Pipe)
    emit("HashEngine", new HashEngine(64, 11, HashKind.all.toSet, (base, beat) => (base + beat)(10, 0)))
  }
}
