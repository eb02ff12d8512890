package sallyport.crypto

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common._
import sallyport.common.regs._

/** Software and traffic around a [[DuplexHarness]]. */
class CryptoBench(val dut: DuplexHarness) {
  // Not inherited: specs import both this bench and their own.
  private object Api extends PeekPokeAPI
  import Api._

  val software = new AxiLiteDriver(dut.io.axil, dut.clock, limit = 4000)
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
  def status(field: RowField): BigInt = field(software.read(CommonRegs.status))
  def control(enable: Int = 1, bypassEncrypt: Int = 0, bypassDecrypt: Int = 0): Unit = software.write(
    CryptoRegs.control,
    CryptoRegs.Control.enable.put(enable) | CryptoRegs.Control.bypassEncrypt.put(bypassEncrypt) |
      CryptoRegs.Control.bypassDecrypt.put(bypassDecrypt)
  )

  private var before = Map.empty[String, BigInt].withDefaultValue(BigInt(0))

  /** Counters that have changed since the last call; checks conservation of each path. */
  def counts(): Map[String, Int] = {
    val now = CryptoCounters.all.map(c => c.name -> software.counter(c.index)).toMap
    for (path <- Seq("encrypt", "decrypt")) {
      def sum(kind: String) =
        CryptoCounters.all.filter(c => c.path == path && c.kind == kind).map(c => now(c.name)).sum
      assert(sum("received") == sum("sent") + sum("punted") + sum("drop"), s"$path: $now")
    }
    val changed = now.collect { case (name, value) if value != before(name) => name -> (value - before(name)).toInt }
    before = now.withDefaultValue(BigInt(0))
    changed
  }

  def outbound(sa: Int, row: BigInt): Unit = assert(software.writeRow(CryptoTables.outboundKey, sa, row))
  def inbound(sa: Int, row: BigInt): Unit = assert(software.writeRow(CryptoTables.inboundKey, sa, row))

  def exchange(player: Player, packets: Seq[LinkPacket], gap: Int = 0, quiet: Int = 600): Seq[LinkPacket] = {
    player.send(packets, gap)
    player.settle(quiet)
    player.receive()
  }
}
