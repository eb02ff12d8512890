// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3.simulator.PeekPokeAPI
import sallyport.crypto.support.{Bytes, SharedModel, Wycheproof}

import scala.collection.mutable
import scala.util.Random

/** One use of the pipe: blocks of 16 bytes as numbers, without the bit behind them. */
case class PolyGroup(acc: BigInt, r: BigInt, s: BigInt, blocks: Seq[BigInt]) {
  def result: BigInt =
    blocks.foldLeft(acc)((sum, block) => Poly1305Reference.absorb(sum, r, block + (BigInt(1) << 128)))
}

class PolyBench(dut: Poly1305Pipe) extends PeekPokeAPI {
  private val expected = mutable.Queue.empty[(Int, PolyGroup, (BigInt, Array[Byte]) => Unit)]
  private var cycle = 0

  dut.io.in.valid.poke(false)
  dut.io.wipe.poke(false)
  dut.reset.poke(true)
  dut.clock.step()
  dut.reset.poke(false)

  private def start(group: PolyGroup, random: Random)(done: (BigInt, Array[Byte]) => Unit): Unit = {
    // The bits beyond the last block must not matter.
    val blocks = group.blocks.padTo(4, BigInt(128, random))
    dut.io.in.valid.poke(true)
    dut.io.in.bits.acc.poke(group.acc)
    dut.io.in.bits.r.poke(group.r)
    dut.io.in.bits.s.poke(group.s)
    dut.io.in.bits.data.poke(blocks.reverse.reduce((high, low) => high << 128 | low))
    dut.io.in.bits.blocks.poke(group.blocks.size)
    expected += ((cycle + Poly1305Pipe.latency, group, done))
  }

  private def step(): Unit = {
    dut.clock.step()
    cycle += 1
    dut.io.in.valid.poke(false)
    val due = expected.headOption.exists(_._1 == cycle)
    assert((dut.io.out.valid.peekValue().asBigInt == 1) == due, s"result in cycle $cycle")
    if (due) {
      val (_, group, done) = expected.dequeue()
      val acc = dut.io.out.bits.acc.peekValue().asBigInt
      val tag = Bytes.fromBigInt(dut.io.out.bits.tag.peekValue().asBigInt, 16)
      assert(acc.bitLength <= 130 && acc % Poly1305Reference.p == group.result % Poly1305Reference.p, s"$group")
      assert(Bytes.toHex(tag) == Bytes.toHex(Poly1305Reference.tag(group.result, group.s)), s"$group")
      done(acc, tag)
    }
  }

  /** Groups in a row, one in `rate` of 8 places 4 cycles apart; the cycles it took. */
  def run(groups: Seq[PolyGroup], rate: Int, random: Random): Int = {
    val begin = cycle
    val waiting = mutable.Queue.from(groups)
    while (waiting.nonEmpty || expected.nonEmpty) {
      if (cycle % 4 == 0 && waiting.nonEmpty && random.nextInt(8) < rate) start(waiting.dequeue(), random)((_, _) => ())
      step()
    }
    cycle - begin
  }

  /**
   * The tags of messages (one-time key and text) that are in the pipe together, split into groups
   * at random.
   */
  def macs(messages: Seq[(Array[Byte], Array[Byte])], random: Random): Seq[String] = {
    val tags = mutable.ArrayBuffer.fill(messages.size)("")
    // A message that is not in the pipe: its number, its accumulator and the blocks that are left.
    val ready = mutable.Queue.from(messages.zipWithIndex.map { case ((_, text), i) =>
      (i, BigInt(0), text.grouped(16).toSeq)
    })
    while (ready.nonEmpty || expected.nonEmpty) {
      if (cycle % 4 == 0 && ready.nonEmpty) {
        val (i, acc, blocks) = ready.dequeue()
        val (r, s) = messages(i)._1.splitAt(16)
        val whole = blocks.takeWhile(_.length == 16).take(random.between(1, 5))
        val group = PolyGroup(acc, Poly1305Reference.number(r), Poly1305Reference.number(s), _)
        // A last block that is not whole comes in by the accumulator: the pipe adds 2^128 to a
        // block of zeros.
        val (now, left) =
          if (whole.nonEmpty) (group(whole.map(Poly1305Reference.number)), blocks.drop(whole.size))
          else {
            val partial = acc + Poly1305Reference.marked(blocks.head) - (BigInt(1) << 128)
            (group(Seq(BigInt(0))).copy(acc = partial.mod(Poly1305Reference.p)), Seq())
          }
        start(now, random) { (acc, tag) =>
          if (left.isEmpty) tags(i) = Bytes.toHex(tag) else ready.enqueue((i, acc, left))
        }
      }
      step()
    }
    tags.toSeq
  }

  /** Wipes from the cycle after a group entered until it comes out, and looks at the output. */
  def wipe(group: PolyGroup, random: Random): (BigInt, BigInt) = {
    while (cycle % 4 != 0) step()
    start(group, random)((_, _) => ())
    expected.clear()
    dut.clock.step()
    dut.io.in.valid.poke(false)
    dut.io.wipe.poke(true)
    dut.clock.step(Poly1305Pipe.latency - 1)
    dut.io.out.valid.expect(true)
    val seen = (dut.io.out.bits.acc.peekValue().asBigInt, dut.io.out.bits.tag.peekValue().asBigInt)
    dut.clock.step()
    dut.io.wipe.poke(false)
    cycle += Poly1305Pipe.latency + 1
    while (cycle % 4 != 0) step()
    seen
  }
}

class Poly1305PipeSpec extends SharedModel[Poly1305Pipe, PolyBench] {
  def model = new Poly1305Pipe
  def bench(dut: Poly1305Pipe) = new PolyBench(dut)

  /** One-time key, text and tag of RFC 8439 2.5.2, and of its appendix A.3 in order. */
  private val vectors: Seq[(String, Array[Byte], String)] = {
    val ietf = ("Any submission to the IETF intended by the Contributor for publication as all or part of an IETF " +
      "Internet-Draft or RFC and any statement made within the context of an IETF activity is considered an \"IETF " +
      "Contribution\". Such statements include oral statements in IETF sessions, as well as written and electronic " +
      "communications made at any time or place, which are addressed to").getBytes("US-ASCII")
    val jabberwocky = ("'Twas brillig, and the slithy toves\nDid gyre and gimble in the wabe:\nAll mimsy were the " +
      "borogoves,\nAnd the mome raths outgrabe.").getBytes("US-ASCII")
    def block(low: String, fill: String = "00") = low + fill * (16 - low.length / 2)
    def hex(blocks: String*) = Bytes.fromHex(blocks.mkString)
    val (zeros, ones) = (block(""), block("", "ff"))
    val long = hex(block("e33594d7505e43b9"), block("3394d7505e4379cd01"), zeros, block("01"))
    Seq(
      (
        "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
        "Cryptographic Forum Research Group".getBytes("US-ASCII"),
        "a8061dc1305136c6c22b8baf0c0127a9"
      ),
      (zeros + zeros, new Array[Byte](64), zeros),
      (zeros + "36e5f6b5c5e06070f0efca96227a863e", ietf, "36e5f6b5c5e06070f0efca96227a863e"),
      ("36e5f6b5c5e06070f0efca96227a863e" + zeros, ietf, "f3477e7cd95417af89a6b8794c310cf0"),
      (
        "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
        jabberwocky,
        "4541669a7eaaee61e708dc7cbcc5eb62"
      ),
      (block("02") + zeros, hex(ones), block("03")),
      (block("02") + ones, hex(block("02")), block("03")),
      (block("01") + zeros, hex(ones, block("f0", "ff"), block("11")), block("05")),
      (block("01") + zeros, hex(ones, block("fb", "fe"), block("", "01")), zeros),
      (block("02") + zeros, hex(block("fd", "ff")), block("fa", "ff")),
      (block("010000000000000004") + zeros, long, block("140000000000000055")),
      (block("010000000000000004") + zeros, long.take(48), block("13"))
    )
  }

  subtest("the tags of RFC 8439 2.5.2 and A.3, with the edges of the reduction") { bench =>
    val random = new Random(1)
    // More than once, since groups are cut at random.
    for (_ <- 0 until 5)
      assert(bench.macs(vectors.map(v => (Bytes.fromHex(v._1), v._2)), random) == vectors.map(_._3))
  }

  subtest("every Wycheproof case of ChaCha20-Poly1305 with a 96-bit nonce") { bench =>
    val cases = Wycheproof.load("chacha20_poly1305.json") match {
      case Some(all) => all.filter(_.iv.length == 12)
      case None => cancel(Wycheproof.absent)
    }
    assert(
      cases.size == 158 && cases.count(_.valid) == 128,
      "the file holds other cases than this test was written for"
    )
    val tags = bench.macs(
      cases.map(c => (Poly1305Reference.oneTimeKey(c.key, c.iv), Poly1305Reference.aeadMessage(c.aad, c.ct))),
      new Random(2)
    )
    for ((c, tag) <- cases.zip(tags)) assert((tag == Bytes.toHex(c.tag)) == c.valid, s"tcId ${c.id}")
  }

  subtest("random messages of every length, up to 12 at once, and extreme operands") { bench =>
    val random = new Random(3)
    val messages = (1 to 120).map(length => (Bytes.random(random, 32), Bytes.random(random, length)))
    for (some <- random.shuffle(messages).grouped(12))
      assert(bench.macs(some, random) == some.map { case (key, text) => Bytes.toHex(Poly1305Reference.mac(key, text)) })

    def ones(bits: Int) = (BigInt(1) << bits) - 1
    def extreme(bits: Int) = random.nextInt(6) match {
      case 0 => BigInt(0)
      case 1 => ones(bits)
      case 2 => BigInt(1) << random.nextInt(bits)
      case 3 => ones(bits) - (BigInt(1) << random.nextInt(bits))
      case 4 => ones(random.nextInt(bits + 1))
      case _ => BigInt(bits, random)
    }
    val extremes =
      Seq.fill(600)(PolyGroup(extreme(130), extreme(128), extreme(128), Seq.fill(random.between(1, 5))(extreme(128))))
    bench.run(extremes, 6, random)

    // With r = 1 the sum itself, over the whole of the edge between p and 2^130, and around 0.
    val edges = for (end <- -8 to 8; s <- Seq(BigInt(0), ones(128))) yield {
      val block = BigInt(128, random)
      val acc = (Poly1305Reference.p + end - block - (BigInt(1) << 128)).mod(BigInt(1) << 130)
      PolyGroup(acc, BigInt(1), s, Seq(block))
    }
    bench.run(edges, 8, random)
  }

  subtest("a group every 4 cycles") { bench =>
    val random = new Random(4)
    val groups = Seq.fill(300)(
      PolyGroup(BigInt(130, random), BigInt(128, random), BigInt(128, random), Seq.fill(4)(BigInt(128, random)))
    )
    assert(bench.run(groups, 8, random) == 4 * (groups.size - 1) + Poly1305Pipe.latency)
  }

  subtest("a wipe leaves nothing of keys and messages") { bench =>
    val random = new Random(5)
    def group =
      PolyGroup(BigInt(130, random), BigInt(128, random), BigInt(128, random), Seq.fill(4)(BigInt(128, random)))
    bench.run(Seq.fill(40)(group), 8, random)
    assert(bench.wipe(group, random) == ((BigInt(0), BigInt(0))))
    bench.run(Seq.fill(20)(group), 8, random)
  }
}
