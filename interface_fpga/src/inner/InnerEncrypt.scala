package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._
import sallyport.common.regs.{FlowRow, PuntReason}

/** What happened on the encrypt path in one cycle. */
class InnerEncryptEvents extends Bundle {
  val receive = new MacReceiveEvents
  val drops = new InnerDrops
  val punt = new PuntEvents(InnerEncrypt.puntReasons)

  /** The last beat of a packet has gone to the link. */
  val txProtect = Bool()
  val txBypass = Bool()
}

/**
 * From the red port to the link: MAC, headers read, flow and rule looked up, verdict, TTL, Ethernet off.
 *
 * What [[MacReceive]] lets pass is judged by [[InnerClassifier]]: protected and bypassed IP packets go to `out`, without
 * Ethernet header and without padding behind their total length; punted frames as they came to `punt`; the rest nowhere.
 * Each drop has an event. A dead CPU costs punted frames alone ([[PuntQueue]]); a stalled link fills the receive buffer,
 * whose overflow is an event.
 *
 * A packet every 2 cycles, a beat a cycle. Latency: see [[InnerEncrypt.lookupLatency]], and what the modules named here add.
 */
class InnerEncrypt(config: InnerConfig) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val linkUp = Input(Bool())
    val mac = Flipped(Valid(new MacBeat))
    val out = PacketStream(new LinkMeta)
    val punt = PacketStream(new PuntMeta)
    val flowTable = Flipped(new TablePort)
    val ruleTable = Flipped(new TablePort)
    val ready = Output(Bool())
    val events = Output(new InnerEncryptEvents)
  })

  private val receive = Module(new MacReceive(config.receiveBeats))
  receive.io.mac := io.mac
  receive.io.enable := io.enable

  private val windowBytes = Ipv4Parser.windowBytes(ethernet = true)
  private val stage = Module(new LookupStage(new RxMeta, new InnerVerdict, windowBytes))
  stage.io.in <> receive.io.out
  stage.io.hold := false.B

  private val parser = Module(new Ipv4Parser(ethernet = true))
  parser.io.in.valid := stage.io.launch.valid
  parser.io.in.bits.bytes := stage.io.launch.bits.bytes
  parser.io.in.bits.length := stage.io.launch.bits.meta.length
  private val fields = parser.io.out.bits

  // Both look-ups side by side; the faster one waits.
  private val key =
    Cat(fields.protocol, fields.destinationPort, fields.sourcePort, fields.destination, fields.source)
  private val keyFields = Seq(FlowRow.srcAddr, FlowRow.dstAddr, FlowRow.srcPort, FlowRow.dstPort, FlowRow.protocol)
  private val flows = CuckooTable(1 << config.flowBits, FlowRow, keyFields, FlowRow.valid)
  flows.io.table <> io.flowTable
  flows.io.clear := false.B
  flows.io.lookup.valid := parser.io.out.valid
  flows.io.lookup.bits := key

  private val rules = TernaryTable(config.rules)
  rules.io.table <> io.ruleTable
  rules.io.clear := false.B
  rules.io.lookup.valid := parser.io.out.valid
  rules.io.lookup.bits := key

  private val classifier = Module(new InnerClassifier)
  classifier.io.macFilter := io.macFilter
  classifier.io.portMac := io.portMac
  classifier.io.linkUp := io.linkUp
  classifier.io.findings.valid := flows.io.result.valid
  classifier.io.findings.bits.fields := ShiftRegister(fields, CuckooTable.latency)
  classifier.io.findings.bits.flow := SpdAnswer.flow(flows.io.result.bits)
  classifier.io.findings.bits.rule := ShiftRegister(
    SpdAnswer.rule(rules.io.result.bits),
    CuckooTable.latency - TernaryTable.latency
  )
  stage.io.result := classifier.io.verdict

  private val steer = Module(new PacketSteer(new InnerVerdict, 2))
  steer.io.in <> stage.io.out
  steer.io.select := Cat(stage.io.out.bits.meta.toPunt, stage.io.out.bits.meta.toLink)

  private val strip = Module(
    new PacketStripper(new InnerVerdict, Seq(EthernetHeader.bytes))(_ => EthernetHeader.bytes.U, _.link.length)
  )
  RewriteHeader(strip.io.in, steer.io.out(0), EthernetHeader.bytes)(_.rewrite)
  ConnectStream(io.out, strip.io.out)(_ := _.link)

  private val punt = Module(new PuntQueue(InnerEncrypt.puntReasons, config.puntBeats))
  ConnectStream(punt.io.in, steer.io.out(1))(_.reason := _.reason)
  io.punt <> punt.io.out

  private val sent = io.out.fire && io.out.bits.last
  io.ready := flows.io.ready && rules.io.ready
  io.events.receive := receive.io.events
  io.events.drops := classifier.io.drops
  io.events.punt := punt.io.events
  io.events.txProtect := RegNext(sent && !io.out.bits.meta.bypass, false.B)
  io.events.txBypass := RegNext(sent && io.out.bits.meta.bypass, false.B)
  assert(!sent || !io.out.bits.error, "a packet for the link is shorter than its total length")
}

object InnerEncrypt {
  val puntReasons: Int = PuntReason.policy + 1

  /** Cycles from the first beats at the parser to the verdict. */
  val lookupLatency: Int = Ipv4Parser.latency + CuckooTable.latency + InnerClassifier.latency
}
