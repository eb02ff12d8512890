// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import scala.util.Random

/** The far end of a link, in Scala: plays words to it, collects words and packets. */
private class FarEnd(dut: Link, withSequenceTx: Boolean) extends PeekPokeAPI {
  var words: Vector[BigInt] = Vector.empty
  private var beats = Vector.empty[BigInt]
  var lost = 0
  private val metaWidth = (new LinkMeta).getWidth

  dut.io.port.up.poke(true.B)
  dut.io.port.tx.ready.poke(true.B)
  dut.io.port.rx.valid.poke(false.B)
  dut.io.in.valid.poke(false.B)
  dut.io.out.ready.poke(true.B)

  def step(): Boolean = {
    val taken = dut.io.in.ready.peek().litToBoolean
    if (dut.io.port.tx.valid.peek().litToBoolean) words :+= dut.io.port.tx.bits.peek().litValue
    if (dut.io.out.valid.peek().litToBoolean) {
      val b = dut.io.out.bits
      val bits = Seq(b.last -> 1, b.bytes -> 7, b.error -> 1).foldLeft(b.data.peek().litValue) { case (x, (f, w)) =>
        (x << w) | (f match { case u: UInt => u.peek().litValue })
      }
      val m = b.meta
      val meta = Seq(
        m.length -> 14,
        m.sa -> 16,
        m.bypass -> 1,
        m.transport -> 1,
        m.moved -> 1,
        m.df -> 1,
        m.tos -> 8,
        m.nextHeader -> 8,
        m.peerTag -> 8,
        m.sequence -> 64
      )
        .foldLeft(BigInt(0)) { case (x, (f, w)) => (x << w) | (f match { case u: UInt => u.peek().litValue }) }
      beats :+= (bits << metaWidth) | meta
    }
    lost += dut.io.status.lost.peek().litValue.toInt
    dut.clock.step(1)
    taken
  }

  def steps(n: Int): Unit = for (_ <- 1 to n) step()

  /** Plays words one a cycle. */
  def play(frames: LinkWire.Frame*): Unit = playWords(LinkWire.encode(frames))

  def playWords(words: Seq[BigInt]): Unit = {
    for (w <- words) {
      dut.io.port.rx.valid.poke(true.B)
      dut.io.port.rx.bits.poke(w.U(512.W))
      step()
    }
    dut.io.port.rx.valid.poke(false.B)
  }

  def send(packet: Packet): Unit = {
    for (beat <- Packet.toBeats(packet.copy(meta = 0), 0)) {
      val b = dut.io.in.bits
      dut.io.in.valid.poke(true.B)
      b.data.poke((beat >> 9).U(512.W))
      b.last.poke(beat.testBit(8).B)
      b.bytes.poke(((beat >> 1) & 127).U)
      b.error.poke(beat.testBit(0).B)
      var rest = packet.meta
      for (
        (field, width) <- Seq[(Bits, Int)](
          b.meta.sequence -> 64,
          b.meta.peerTag -> 8,
          b.meta.nextHeader -> 8,
          b.meta.tos -> 8,
          b.meta.df -> 1,
          b.meta.moved -> 1,
          b.meta.transport -> 1,
          b.meta.bypass -> 1,
          b.meta.sa -> 16,
          b.meta.length -> 14
        )
      ) {
        val value = rest & ((BigInt(1) << width) - 1)
        field match {
          case bool: Bool => bool.poke((value == 1).B)
          case other => other.asInstanceOf[UInt].poke(value.U(width.W))
        }
        rest >>= width
      }
      while (!step()) {}
    }
    dut.io.in.valid.poke(false.B)
  }

  def frames: Seq[LinkWire.Frame] = LinkWire.decode(words, withSequenceTx)
  def packets: Seq[Packet] = Packet.fromBeats(beats, metaWidth)

  /** The nonce of the last request, once the words so far are forgotten. */
  def nextRequest(): BigInt = {
    words = Vector.empty
    var tries = 0
    while (!frames.exists(_.kind == 3)) {
      step()
      tries += 1
      require(tries < 200, "no request came")
    }
    frames.filter(_.kind == 3).last.field(63, 32)
  }
}

/**
 * The words on the wire, judged by a model written from docs/reference/link.md and the
 * JVM's CRC-32.
 */
class LinkWireSpec extends AnyFunSuite with CompiledOnce {

  private val random = new Random(4)

  private def packet(length: Int, sequence: Boolean): Packet = {
    val number = if (sequence) BigInt(64, random) else BigInt(0)
    Packet.random(length, random).copy(meta = (BigInt(length) << 108) | (BigInt(44, random) << 64) | number)
  }

  for (sequence <- Seq(false, true))
    test(s"frames are as documented, sequence numbers ${if (sequence) "sent" else "received"}") {
      simulate(new Link(LinkParams(withSequenceTx = sequence, withSequenceRx = !sequence))) { dut =>
        val far = new FarEnd(dut, sequence)

        // From reset: requests, and credit-only headers that say fresh and not locked.
        val nonce = far.nextRequest()
        far.steps(140)
        assert(far.frames.forall(f => f.kind == 3 || f.kind == 2))
        assert(far.frames.count(_.kind == 3) >= 4 && far.frames.filter(_.kind == 3).forall(_.field(63, 32) == nonce))
        val fresh = far.frames.filter(_.kind == 2)
        assert(fresh.length >= 2 && fresh.forall(f => f.field(13, 12) == 2 && f.field(63, 52) == 0))

        // Both directions resynchronise. The far end has sent 7 packets, 100 beats, in a former
        // life of this end.
        far.play(LinkWire.resync(nonce, 7, 100, 0x123), LinkWire.request(0xcafe1234L), LinkWire.credit(100, 0))
        far.words = Vector.empty
        far.steps(100)
        val answers = far.frames.filter(_.kind == 4)
        assert(answers.length == 1)
        assert(answers.head == LinkWire.resync(0xcafe1234L, 0, 0, 0x234), "the answer echoes the nonce")
        assert(!far.frames.exists(_.kind == 3), "requests after the lock")
        val locked = far.frames.filter(_.kind == 2).last
        assert(locked.field(13, 12) == 1 && locked.field(91, 80) == 100, "freed follows the far end's count")
        far.play(LinkWire.credit(100, 0))
        far.steps(20)
        assert(dut.io.status.up.peek().litToBoolean && far.lost == 0)

        // Out: every length up to four units past a beat, and some long ones.
        far.words = Vector.empty
        val out = random.shuffle((1 to 96) ++ Seq(127, 128, 129, 1400, 1501, 9600)).map(packet(_, sequence))
        var sent = 0
        for (p <- out) {
          far.send(p)
          sent += p.beats
          if (random.nextBoolean()) far.play(LinkWire.credit(100, sent - 250 max 0))
        }
        far.steps(300)
        var count = 0
        val seen = far.frames.filter(_.kind == 1)
        val numbers = (seen.length, out.length, far.lost)
        assert(numbers._1 == numbers._2, s"${seen.map(_.payload.length)} instead of ${out.map(_.bytes.length)}")
        for ((f, p) <- seen.zip(out)) {
          val expected = LinkWire.packet(p, count, 100, sequence)
          assert(f == expected, s"packet of ${p.bytes.length} bytes")
          count += p.beats
        }

        // In: the same, packed tightly by the model.
        val in = random.shuffle((1 to 96) ++ Seq(127, 128, 129, 1400, 1501)).map(packet(_, !sequence))
        var taken = 100
        var number = 7
        def next(p: Packet): LinkWire.Frame = {
          val f = LinkWire.packet(p, taken, sent, !sequence)
          taken += p.beats
          number += 1
          f
        }
        far.play(in.map(next): _*)
        far.steps(400)
        assert(far.packets == in && far.lost == 0)
        assert(far.frames.last.field(91, 80) == taken % 4096, "every beat is freed")

        // Faults: nothing comes out until the resync, and the loss is known then.
        def p = packet(1 + random.nextInt(200), !sequence)
        def damaged(f: LinkWire.Frame, bit: Int) = f.copy(header = f.header.flipBit(bit))
        val good = LinkWire.packet(p, 0, 0, !sequence)
        val faults = Seq[(String, () => Seq[LinkWire.Frame])](
          "wrong CRC" -> (() => Seq(damaged(next(p), 100))),
          "wrong check" -> (() => Seq(damaged(next(p), 5))),
          "wrong payload" -> (() => {
            val f = next(p); Seq(f.copy(payload = f.payload.updated(0, (f.payload.head ^ 1).toByte)))
          }),
          "packet lost" -> (() => { next(p); Seq(next(p)) }),
          "packet doubled" -> (() => { val f = next(packet(10, !sequence)); Seq(f, f) }),
          "length 0" -> (() => Seq(LinkWire.packet(p, taken, sent, !sequence, length = Some(0)))),
          "length 9601" -> (() => Seq(LinkWire.packet(p, taken, sent, !sequence, length = Some(9601)))),
          "sent of a credit-only header" -> (() => Seq(LinkWire.credit(taken + 1, sent))),
          "fresh" -> (() => Seq(LinkWire.credit(taken, sent, flags = 2))),
          "type 5" -> (() => Seq(LinkWire.frame(5))),
          "resync with the wrong nonce, then a packet" -> (() =>
            Seq(LinkWire.credit(taken + 1, sent), LinkWire.resync(12345, number, taken, 0x123))
          )
        )
        var delivered = in.length
        for ((name, fault) <- faults) {
          val before = number
          val frames = fault()
          val double = if (name == "packet doubled") 1 else 0
          far.play((frames ++ Seq.fill(3)(next(p))): _*)
          far.steps(40)
          delivered += double
          assert(far.packets.length == delivered, name)
          val lost = far.lost
          far.play(LinkWire.resync(far.nextRequest(), number, taken, 0x123))
          val after = packet(77, !sequence)
          val afterFrame = next(after)
          far.steps(40)
          far.play(afterFrame)
          far.steps(60)
          delivered += 1
          assert(far.packets.length == delivered && far.packets.last == after, name)
          assert(far.lost - lost == number - 1 - before - double, name)
        }
        // A new epoch: the far end was reset and has lost two packets since.
        far.play(LinkWire.credit(3, 0, flags = 2))
        far.steps(20)
        val lost = far.lost
        far.play(LinkWire.resync(far.nextRequest(), 2, 5, 0x777))
        far.steps(60)
        assert(far.lost - lost == 2)
      }
    }
}
