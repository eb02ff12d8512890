// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import sallyport.crypto.support.{Bytes, SharedModel, Wycheproof}

import scala.collection.mutable
import scala.util.Random

/**
 * What the tests of the hash pipes have in common.
 *
 * @param reference
 *   the digest of a message, by somebody else
 */
abstract class HashPipeBench(
    pipe: => HashPipe,
    loop: HashLoop,
    hash: HashComputation.Hash,
    reference: Array[Byte] => Array[Byte]
) extends SharedModel[HashPipe, HashPipe] {
  import HashComputation._

  private val digestBytes = 4 * loop.words

  def model: HashPipe = pipe
  def bench(dut: HashPipe): HashPipe = {
    dut.io.in.valid.poke(false)
    dut.io.wipe.poke(false)
    dut.reset.poke(true)
    dut.clock.step(2)
    dut.reset.poke(false)
    dut
  }

  /**
   * Runs computations together, a compression every 4 cycles as long as any is ready, and checks
   * the cycle of each result. Gives the results, and how many turns found nothing ready.
   */
  private def run(dut: HashPipe, computations: Seq[HashComputation]): (Seq[Array[Byte]], Int) = {
    val results = Array.ofDim[Array[Byte]](computations.size)
    val ready = mutable.Queue.empty[(Int, Compress)]
    val flying = mutable.Queue.empty[(Int, Int, Compress)]
    var idleTurns = 0
    def take(number: Int, computation: HashComputation): Unit = computation match {
      case c: Compress => ready += number -> c
      case Result(bytes) => results(number) = bytes
    }
    for ((computation, number) <- computations.zipWithIndex) take(number, computation)
    var cycle = 0
    while (ready.nonEmpty || flying.nonEmpty) {
      if (cycle % 4 == 0 && ready.isEmpty) idleTurns += 1
      if (cycle % 4 == 0 && ready.nonEmpty) {
        val (number, compress) = ready.dequeue()
        dut.io.in.valid.poke(true)
        dut.io.in.bits.state.poke(Bytes.toBigInt(compress.state))
        dut.io.in.bits.block.poke(Bytes.toBigInt(compress.block))
        flying += ((cycle + loop.latency, number, compress))
      } else if (cycle % 4 < 2) dut.io.in.valid.poke(false)
      dut.clock.step()
      cycle += 1
      val due = flying.headOption.exists(_._1 == cycle)
      assert((dut.io.out.valid.peekValue().asBigInt == 1) == due, s"valid in cycle $cycle")
      if (due) {
        val (_, number, compress) = flying.dequeue()
        val state = dut.io.out.bits.peekValue().asBigInt
        assert(state.bitLength <= 8 * digestBytes)
        take(number, compress.next(Bytes.fromBigInt(state, digestBytes)))
      }
    }
    (results.toSeq, idleTurns)
  }

  protected def digests(dut: HashPipe, messages: Seq[Array[Byte]]): (Seq[String], Int) = {
    val (results, idleTurns) = run(dut, messages.map(hash.digest(_)(Result)))
    (results.map(Bytes.toHex), idleTurns)
  }

  /** Messages of 0 to 300 bytes, a block every 4 cycles, then one alone. */
  def checkMessages(dut: HashPipe): Unit = {
    val random = new Random(1)
    val messages = Seq.tabulate(301)(Bytes.random(random, _))
    val (together, idleTurns) = digests(dut, messages)
    assert(together == messages.map(m => Bytes.toHex(reference(m))))
    assert(idleTurns < 3 * loop.stages, "so many messages fill the pipe but for the end of the longest")
    assert(digests(dut, messages.takeRight(1))._1 == together.takeRight(1))
  }

  /** Every case of a file of Wycheproof, which holds `size` cases and `invalid` bad ones. */
  def checkHmac(dut: HashPipe, file: String, size: Int, invalid: Int): Unit = {
    val cases = Wycheproof.load(file).getOrElse(cancel(Wycheproof.absent))
    assert((cases.size, cases.count(!_.valid)) == (size, invalid), "the file has changed since this test was written")
    val (tags, _) = run(dut, cases.map(c => hash.hmac(c.key, c.msg)))
    for ((c, tag) <- cases.zip(tags))
      assert((Bytes.toHex(tag.take(c.tag.length)) == Bytes.toHex(c.tag)) == c.valid, s"tcId ${c.id}")
  }

  /** A wipe drops the pipe's contents, and leaves the same state behind for any contents. */
  def checkWipe(dut: HashPipe): Unit = {
    def fillAndWipe(seed: Int): Seq[BigInt] = {
      val random = new Random(seed)
      for (_ <- 0 until loop.stages) {
        dut.io.in.valid.poke(true)
        dut.io.in.bits.state.poke(BigInt(256, random))
        dut.io.in.bits.block.poke(BigInt(512, random))
        dut.clock.step()
        dut.io.in.valid.poke(false)
        dut.clock.step(3)
      }
      dut.io.wipe.poke(true)
      dut.clock.step(loop.latency)
      // As long as the wipe goes on, the output walks through the rows of the ring.
      val left = Seq.fill(loop.stages) {
        dut.clock.step()
        dut.io.out.valid.expect(false)
        dut.io.out.bits.peekValue().asBigInt
      }
      dut.io.wipe.poke(false)
      for (_ <- 0 until loop.latency) {
        dut.clock.step()
        dut.io.out.valid.expect(false)
      }
      left
    }
    val left = fillAndWipe(1)
    assert(left.distinct.size == 1)
    assert(fillAndWipe(2) == left)
    val message = Array.tabulate(100)(_.toByte)
    assert(digests(dut, Seq(message))._1 == Seq(Bytes.toHex(reference(message))))
  }
}
