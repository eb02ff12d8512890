package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/** How far the headers of an IP packet have been read. */
class ExtensionWalk extends Bundle {

  /** What stands at `at`: a next-header or protocol number. */
  val protocol = UInt(8.W)

  /** 8-byte units of extension headers before it. */
  val at = UInt(log2Ceil(ExtensionStep.maxUnits + 1).W)

  /** Bytes of the packet from there to its end. */
  val left = UInt(PacketStream.lengthBits.W)

  /** A fragment, and one whose offset is not 0, so that what is at `at` is no header. */
  val fragment = Bool()
  val laterFragment = Bool()

  /** Nothing more to read: IPv4, a later fragment, or one of the two below. */
  val ended = Bool()
  val malformed = Bool()
  val unfinished = Bool()
}

/**
 * Reads one extension header of an IPv6 packet (RFC 8200 section 4), if one is there: hop-by-hop options, routing,
 * destination options or fragment. Any other number, ESP, AH and no-next-header among them, is left where it is.
 *
 * In any order and number (4.1), but hop-by-hop options only as the first: elsewhere `malformed`. So is a header that goes
 * beyond the packet. One that goes beyond [[ExtensionStep.maxUnits]] is `unfinished`, whatever its end. Of a fragment header
 * the reserved bits are ignored (4.5).
 *
 * Does not shift the packet: picks the header's first 4 bytes, of all that it may start at, by `at`. A pipeline without
 * stalls: `out` belongs to `in` and `words` of [[ExtensionStep.latency]] cycles before.
 *
 * @param first this step stands directly behind the fixed header
 */
class ExtensionStep(first: Boolean) extends Module {
  val io = IO(new Bundle {
    val in = Input(new ExtensionWalk)

    /** The first 4 bytes of each 8-byte unit, in host order. */
    val words = Input(Vec(ExtensionStep.maxUnits, UInt(32.W)))
    val out = Output(new ExtensionWalk)
  })
  import ExtensionStep._

  // Stage 1: is one here, may it be here, and its first word.
  private val walk1 = RegNext(io.in)
  private val here1 = RegNext(continues(io.in))
  private val misplaced1 = RegNext((!first).B && io.in.protocol === hopByHop.U)
  private val fragment1 = RegNext(io.in.protocol === fragment.U)
  private val cut1 = RegNext(io.in.left < unitBytes.U)
  private val word1 = RegNext(if (first) io.words.head else Mux1H(io.words.indices.map(io.in.at === _.U), io.words))

  // Stage 2: its end. The fragment header's second byte is no length.
  private val more = Mux(fragment1, 0.U, word1(23, 16))
  private val units = walk1.left(PacketStream.lengthBits - 1, 3)
  private val offset = word1(15, 3)
  private val end = walk1.at +& more
  private val beyond = end >= maxUnits.U
  private val short = units <= more
  private val malformed = here1 && (misplaced1 || cut1 || !beyond && short)
  private val unfinished = here1 && !misplaced1 && !cut1 && beyond
  private val read = here1 && !misplaced1 && !cut1 && !beyond && !short
  private val later = fragment1 && offset =/= 0.U

  private val next = WireDefault(walk1)
  when(here1) {
    next.protocol := word1(31, 24)
    next.at := (end + 1.U)(walk1.at.getWidth - 1, 0)
    next.left := Cat(units - more - 1.U, walk1.left(2, 0))
  }
  next.fragment := walk1.fragment || read && fragment1 && (offset =/= 0.U || word1(0))
  next.laterFragment := walk1.laterFragment || read && later
  next.malformed := walk1.malformed || malformed
  next.unfinished := walk1.unfinished || unfinished
  next.ended := walk1.ended || malformed || unfinished || here1 && later
  io.out := RegNext(next)
}

object ExtensionStep {
  val latency: Int = 2
  val unitBytes: Int = 8

  /** The limits: extension headers of a packet, and 8-byte units of them all together. */
  val maxHeaders: Int = 4
  val maxUnits: Int = 8

  private val hopByHop: Int = 0
  private val routing: Int = 43
  private val fragment: Int = 44
  private val destinationOptions: Int = 60

  /** An extension header is next. */
  private def continues(walk: ExtensionWalk): Bool =
    !walk.ended && Seq(hopByHop, routing, fragment, destinationOptions).map(walk.protocol === _.U).reduce(_ || _)

  /** A packet's walk with all headers read that may be: what still continues is judged as a further header would be. */
  def close(walk: ExtensionWalk): ExtensionWalk = {
    val closed = WireDefault(walk)
    val bad = walk.protocol === hopByHop.U || walk.left < unitBytes.U
    closed.malformed := walk.malformed || continues(walk) && bad
    closed.unfinished := walk.unfinished || continues(walk) && !bad
    closed
  }
}
