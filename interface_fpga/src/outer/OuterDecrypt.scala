package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._
import sallyport.common.regs.{PuntReason, RuleRow, SadRow}

/** What happened on the decrypt path in one cycle. */
class OuterDecryptEvents extends Bundle {
  val receive = new MacReceiveEvents
  val drops = new OuterDrops
  val punt = new PuntEvents(OuterDecrypt.puntReasons)

  /** The last beat of a packet has gone to the link. */
  val txEsp = Bool()
  val txBypass = Bool()
}

/**
 * From the black port to the link: MAC, headers read, SAD and rules looked up, verdict, headers off.
 *
 * What [[MacReceive]] lets pass is judged by [[OuterClassifier]]: ESP packets (from SPI to ICV) and bypassed IP packets go
 * to `out`, punted frames as they came to `punt`, the rest nowhere; each drop has an event. A dead CPU costs punted frames
 * alone ([[PuntQueue]]); a stalled link fills the receive buffer, whose overflow is an event.
 *
 * A packet every 2 cycles, a beat a cycle. Latency: see [[OuterDecrypt.latency]].
 */
class OuterDecrypt(config: OuterConfig) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val localIpv4 = Input(UInt(32.W))
    val linkUp = Input(Bool())
    val mac = Flipped(Valid(new MacBeat))
    val out = PacketStream(new LinkMeta)
    val punt = PacketStream(new PuntMeta)
    val sadTable = Flipped(new TablePort)
    val ruleTable = Flipped(new TablePort)
    val ready = Output(Bool())
    val events = Output(new OuterDecryptEvents)
  })

  private val receive = Module(new MacReceive(config.receiveBeats))
  receive.io.mac := io.mac
  receive.io.enable := io.enable

  private val windowBytes = Ipv4Parser.windowBytes(ethernet = true)
  private val stage = Module(new LookupStage(new RxMeta, new OuterVerdict, windowBytes))
  stage.io.in <> receive.io.out
  stage.io.hold := false.B

  private val parser = Module(new Ipv4Parser(ethernet = true))
  parser.io.in.valid := stage.io.launch.valid
  parser.io.in.bits.bytes := stage.io.launch.bits.bytes
  parser.io.in.bits.length := stage.io.launch.bits.meta.length
  private val fields = parser.io.out.bits

  // Both look-ups side by side; the faster one waits.
  private val sad =
    CuckooTable(1 << config.sadBits, SadRow, Seq(SadRow.spi, SadRow.dstAddr, SadRow.protocol), SadRow.valid)
  sad.io.table <> io.sadTable
  sad.io.clear := false.B
  sad.io.lookup.valid := parser.io.out.valid
  sad.io.lookup.bits := Cat(fields.protocol, fields.destination, fields.spi)

  private val rules = TernaryTable(config.rules)
  rules.io.table <> io.ruleTable
  rules.io.clear := false.B
  rules.io.lookup.valid := parser.io.out.valid
  rules.io.lookup.bits := Cat(
    fields.protocol,
    fields.destinationPort,
    fields.sourcePort,
    fields.destination,
    fields.source
  )
  private val rule = ShiftRegister(rules.io.result.bits, CuckooTable.latency - TernaryTable.latency)

  private val classifier = Module(new OuterClassifier)
  classifier.io.macFilter := io.macFilter
  classifier.io.portMac := io.portMac
  classifier.io.localIpv4 := io.localIpv4
  classifier.io.linkUp := io.linkUp
  classifier.io.findings.valid := sad.io.result.valid
  classifier.io.findings.bits.fields := ShiftRegister(fields, CuckooTable.latency)
  classifier.io.findings.bits.saHit := sad.io.result.bits.hit
  classifier.io.findings.bits.sa := SadRow.sa(sad.io.result.bits.row)
  classifier.io.findings.bits.ruleHit := rule.hit
  classifier.io.findings.bits.ruleAction := RuleRow.action(rule.row)
  classifier.io.findings.bits.ruleSa := RuleRow.sa(rule.row)
  stage.io.result := classifier.io.verdict

  private val steer = Module(new PacketSteer(new OuterVerdict, 2))
  steer.io.in <> stage.io.out
  steer.io.select := Cat(stage.io.out.bits.meta.toPunt, stage.io.out.bits.meta.toLink)

  private val strip = Module(new PacketStripper(new OuterVerdict, OuterDecrypt.headerLengths)(_.strip, _.link.length))
  strip.io.in <> steer.io.out(0)
  ConnectStream(io.out, strip.io.out)(_ := _.link)

  private val punt = Module(new PuntQueue(OuterDecrypt.puntReasons, config.puntBeats))
  ConnectStream(punt.io.in, steer.io.out(1))(_.reason := _.reason)
  io.punt <> punt.io.out

  private val sent = io.out.fire && io.out.bits.last
  io.ready := sad.io.ready && rules.io.ready
  io.events.receive := receive.io.events
  io.events.drops := classifier.io.drops
  io.events.punt := punt.io.events
  io.events.txEsp := RegNext(sent && !io.out.bits.meta.bypass, false.B)
  io.events.txBypass := RegNext(sent && io.out.bits.meta.bypass, false.B)
}

object OuterDecrypt {

  /** Ethernet alone, or with an IPv4 header of 5 to 15 words. */
  val headerLengths: Seq[Int] = EthernetHeader.bytes +: (5 to 15).map(EthernetHeader.bytes + 4 * _)
  val puntReasons: Int = PuntReason.policy + 1

  /** Cycles from the first beat at the parser to the verdict. */
  val lookupLatency: Int = Ipv4Parser.latency + CuckooTable.latency + OuterClassifier.latency
}
