// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3.simulator.PeekPokeAPI
import sallyport.common.registers.map.CommonRegs

/** Software and traffic around a [[DuplexHarness]]. */
class CryptoBench(val dut: DuplexHarness) extends CryptoSoftware(dut.io.axil, dut.clock) {
  // Not inherited: specs import both this bench and their own.
  private object Api extends PeekPokeAPI
  import Api._

  val encrypt = new Player(dut.io.encrypt, dut.clock)
  val decrypt = new Player(dut.io.decrypt, dut.clock)

  software.idle()
  encrypt.idle()
  decrypt.idle()
  dut.io.tamper.poke(false)
  dut.reset.poke(true)
  dut.clock.step(2)
  dut.reset.poke(false)

  def ready: Boolean = dut.io.ready.peek().litToBoolean
  def untilReady(): Unit = { while (!ready) dut.clock.step(); assert(status(CommonRegs.Status.ready) == 1) }

  /** The shortest tamper pulse, and the cycles until the chip is not ready. */
  def pulse(): Unit = {
    dut.io.tamper.poke(true)
    dut.clock.step()
    dut.io.tamper.poke(false)
    dut.clock.step(4)
    assert(!ready)
  }

  def exchange(player: Player, packets: Seq[LinkPacket], gap: Int = 0, quiet: Int = 600): Seq[LinkPacket] = {
    player.send(packets, gap)
    player.settle(quiet)
    player.receive()
  }
}
