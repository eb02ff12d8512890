// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.chip

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{CommonRegs, CounterDesc, InnerRegs, OuterRegs, RegisterDesc}
import sallyport.common.registers.{AxiLite, CounterBank, RegisterBank, RegisterBankParams, RegisterValues}
import sallyport.common.table.{TableMux, TablePort}
import sallyport.iface.cpu.TokenLimit
import sallyport.iface.dispatch.Dispatch
import sallyport.iface.parse.ExtensionSkip
import sallyport.iface.receive.ReceiveControl

/**
 * The register bank of an interface chip, with the parts that both chips share: CONTROL, PORT_MAC,
 * STATUS and the way to the tables.
 *
 * @param bank       the chip's registers and counters
 * @param tables     number of the chip's tables
 * @param puntLimits token buckets of the port's trap groups, in their order
 */
class InterfaceRegisters(bank: RegisterBankParams, tables: Int, puntLimits: Seq[RegisterDesc]) extends Module {
  private val own =
    Seq(CommonRegs.status, CommonRegs.cyclesLo, CommonRegs.cyclesHi, CommonRegs.capabilityCoreKhz)

  val io = IO(new Bundle {
    val axil = Flipped(new AxiLite)
    val ready = Input(Bool())
    val linkUp = Input(Bool())

    /** The chip's cycles since reset. */
    val cycles = Input(UInt(64.W))
    val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))
    val increments = Input(Vec(bank.counters.length, UInt(CounterBank.incrementBits.W)))

    val txEnable = Output(Bool())

    /** For the way from the port to the link, which takes frames once the chip is ready. */
    val receive = Output(new ReceiveControl(puntLimits.length))

    /** First wire byte in bits 7:0. */
    val portMac = Output(UInt(48.W))

    /** In bytes of IP. */
    val portMtu = Output(UInt(14.W))
    val extensionSkip = Output(new ExtensionSkip)

    /** Registers of the chip's own that software reads. */
    val status = Input(new RegisterValues(bank.status.diff(own)))

    /** Every register that software writes. */
    val control = Output(new RegisterValues(bank.control))

    /** A flipped bit of one of these was repaired. */
    val repaired = Output(Bool())
    val table = Vec(tables, new TablePort)
  })

  /** A token bucket's register; the fields are the same in all of them. */
  def tokenLimit(register: RegisterDesc): TokenLimit = {
    val limit = Wire(new TokenLimit)
    limit.rate := InnerRegs.LimitInject.rate(io.control(register))
    limit.burst := InnerRegs.LimitInject.burst(io.control(register))
    limit
  }

  private def register(name: String): RegisterDesc = bank.registers.find(_.name == name).get

  private val registers = Module(new RegisterBank(bank))
  registers.io.axil <> io.axil
  registers.io.clear := false.B
  registers.io.increments := io.increments
  io.repaired := registers.io.repaired
  registers.io.status(CommonRegs.status) :=
    (io.ready << CommonRegs.Status.ready.lsb).asUInt | (io.linkUp << CommonRegs.Status.linkUp.lsb).asUInt
  registers.io.status(CommonRegs.cyclesLo) := io.cycles(31, 0)
  registers.io.status(CommonRegs.cyclesHi) := io.cycles(63, 32)
  registers.io.status(CommonRegs.capabilityCoreKhz) := io.coreKhz

  for (register <- bank.status.diff(own)) registers.io.status(register) := io.status(register)

  private val control = RegNext(registers.io.control)
  io.control := control
  private val enables = control(register("control"))
  require(
    OuterRegs.Control.rxEnable == InnerRegs.Control.rxEnable && OuterRegs.Control.txEnable == InnerRegs.Control.txEnable &&
      OuterRegs.Control.macFilter == InnerRegs.Control.macFilter &&
      OuterRegs.Control.bump == InnerRegs.Control.bump,
    "CONTROL of both interface chips must have one layout"
  )
  io.txEnable := OuterRegs.Control.txEnable(enables)
  io.portMac := Cat(control(register("port_mac_hi"))(15, 0), control(register("port_mac_lo")))

  io.portMtu := control(register("port_mtu"))(13, 0)

  private val skipped = control(register("skip_headers"))
  io.extensionSkip.hopByHop := OuterRegs.SkipHeaders.hop(skipped)
  io.extensionSkip.routing := OuterRegs.SkipHeaders.route(skipped)
  io.extensionSkip.destinationOptions := OuterRegs.SkipHeaders.dst(skipped)

  io.receive.enable := io.ready && OuterRegs.Control.rxEnable(enables).asBool
  io.receive.bump := OuterRegs.Control.bump(enables)
  io.receive.macFilter := OuterRegs.Control.macFilter(enables)
  io.receive.portMac := io.portMac
  io.receive.own.v4 := control(register("local_ipv4"))
  io.receive.own.v6 := Cat((3 to 0 by -1).map(n => control(register(s"local_ipv6_$n"))))
  io.receive.priorityDscps := Cat(control(register("qos_dscp_high")), control(register("qos_dscp_low")))
  io.receive.fragmentLimits.timeout := control(register("reasm_timeout"))(14, 0)
  io.receive.fragmentLimits.perSource := control(register("reasm_per_source"))(15, 0)
  io.receive.skip := io.extensionSkip
  private def words(name: String, count: Int): UInt =
    Cat((count - 1 to 0 by -1).map(n => control(register(s"dispatch_${name}_$n"))))
  private val dispatch = control(register("dispatch_control"))
  require(
    OuterRegs.DispatchControl.mode == InnerRegs.DispatchControl.mode &&
      OuterRegs.DispatchControl.speaker == InnerRegs.DispatchControl.speaker,
    "DISPATCH_CONTROL of both interface chips must have one layout"
  )
  io.receive.dispatch.mode := OuterRegs.DispatchControl.mode(dispatch)
  io.receive.dispatch.speaker := OuterRegs.DispatchControl.speaker(dispatch)
  io.receive.dispatch.owned := words("owned", Dispatch.buckets / 32)
  io.receive.dispatch.key := words("key", Dispatch.keyBits / 32 + 1)(Dispatch.keyBits - 1, 0)
  io.receive.puntLimits := VecInit(puntLimits.map(tokenLimit))

  private val mux = Module(new TableMux(tables))
  mux.io.in <> registers.io.table
  io.table <> mux.io.out
}

object InterfaceRegisters {

  /**
   * Connects every counter of a chip to its event: those that both chips have by name, its own by
   * index. A counter without an event, and an event without a counter, is an error.
   */
  def count(
      increments: Vec[UInt],
      counters: Seq[CounterDesc],
      shared: Map[String, UInt],
      own: Map[Int, UInt]
  ): Unit = {
    for (counter <- counters) {
      val sources = own.get(counter.index) ++ shared.get(counter.name)
      require(sources.size == 1, s"${counter.name} has ${sources.size} events, and one is needed")
      increments(counter.index) := sources.head
    }
    require(own.size + shared.size == counters.size, "an event for a counter that the chip does not have")
  }
}
