// SPDX-License-Identifier: Apache-2.0
package sallyport.boards

import chisel3._
import sallyport.common.elaborate.Emit
import sallyport.common.link.{LinkMeta, LinkPacker, LinkUnpacker}
import sallyport.crypto.dispatch.Dispatcher
import sallyport.iface.parse.HeaderParser
import sallyport.iface.stream.LookupStage

import java.nio.file.Paths

/**
 * Writes each module that `make route-check` places and routes into `FOLDER/<name>`; the one
 * argument is FOLDER. All are as in the chips, but two: the stage answers with 64 bits, and the
 * dispatcher has 2 lanes and 2 jobs. Memories are of the kinds that yosys chooses for the device.
 */
object ElaborateRouted {
  def main(args: Array[String]): Unit = {
    def emit(name: String, module: => RawModule): Unit = Emit(module, Paths.get(args.head).resolve(name))
    emit("LinkPacker", new LinkPacker(withSequence = true))
    emit("LinkUnpacker", new LinkUnpacker(withSequence = true, depth = 5))
    emit("LookupStage", new LookupStage(new LinkMeta, UInt(64.W), windowBytes = 128))
    emit("HeaderParser", new HeaderParser(ethernet = true))
    emit("Dispatcher", new Dispatcher(lanes = 2, jobs = 2))
  }
}
