// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.crossing.SlrStage
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.suite.Suite

/** The near end of a way without a lane: what a lane does over it is in [[LaneSpec]]. */
class LaneWaySpec extends AnyFunSuite with CompiledOnce {

  private val config = LaneConfig(encrypt = false, Seq("aes128gcm16", "sm4-sm3").map(Suite.named), bufferBeats = 1024)
  private val (slow, fast) = (Suite.named("sm4-sm3"), Suite.named("aes128gcm16"))

  private class Bench(dut: LaneWay) {
    val (near, far) = (dut.io.near, dut.io.far)
    for (low <- Seq(near.in.valid, near.out.ready, near.zeroize, far.out.valid, far.freed.retired, far.busy))
      low.poke(false)
    far.freed.release.valid.poke(false)
    for (low <- near.grant ++ far.done) low.poke(false)
    far.ready.poke(true)
    step(2 * SlrStage.stages)

    def step(cycles: Int = 1): Unit = dut.clock.step(cycles)
    def is(bit: Bool): Boolean = bit.peek().litToBoolean

    /** A beat stands at `in`. */
    def offer(suite: Suite, last: Boolean = true): Unit = {
      near.in.valid.poke(true)
      near.in.bits.last.poke(last)
      near.in.bits.meta.suite.poke(suite.number)
    }

    /** The beats that go out of the far end in so many cycles. */
    def comes(cycles: Int): Seq[Int] = (0 until cycles).flatMap { cycle =>
      val comes = is(far.in.valid)
      assert(is(far.noBeat) != comes, "a beat and its inverse")
      step()
      Option.when(comes)(cycle)
    }

    def pulse(bit: Bool): Unit = {
      bit.poke(true)
      step()
      bit.poke(false)
    }
  }

  private def run(body: Bench => Unit): Unit = simulate(new LaneWay(config))(dut => body(new Bench(dut)))

  for (waits <- Seq(0, 5))
    test(s"no packet begins in the two cycles behind a slow one, which waited $waits cycles at the entrance") {
      run { bench =>
        import bench._
        far.ready.poke(waits == 0)
        step(SlrStage.stages)
        offer(slow)
        step(waits)
        far.ready.poke(true)
        assert(comes(20 + SlrStage.stages).sliding(2).forall { case Seq(one, other) => other - one == 3 })
        offer(slow, last = false)
        while (!is(near.in.ready)) step()
        step()
        assert((1 to 4).forall { _ => step(); is(near.in.ready) }, "its own beats go on")
      }
    }

  test("fast packets begin one behind the other until their slots are taken, and again when one is free") {
    run { bench =>
      import bench._
      val slots = config.slotRings.places(fastRing = true)
      offer(fast)
      for (_ <- 0 until slots - 1) {
        assert(is(near.room(1)))
        step()
      }
      near.in.valid.poke(false)
      step(2)
      assert(!is(near.room(1)) && is(near.room(0)))
      far.freed.release.bits.fast.poke(true)
      far.freed.release.bits.beats.poke(1)
      pulse(far.freed.release.valid)
      step(SlrStage.stages + 1)
      assert(is(near.room(1)))
    }
  }

  test("each finished packet is offered until it is granted, and none once the lane is empty") {
    run { bench =>
      import bench._
      far.busy.poke(true)
      step(SlrStage.stages + 1)
      far.done(1).poke(true)
      step(2)
      far.done(1).poke(false)
      step(SlrStage.stages)
      for (_ <- 0 until 2) {
        assert(is(near.offer(1)) && !is(near.offer(0)))
        pulse(near.grant(1))
      }
      assert(!is(near.offer(1)))
      // A pulse that was no packet's.
      pulse(far.done(0))
      step(SlrStage.stages)
      assert(is(near.offer(0)))
      far.busy.poke(false)
      step(SlrStage.stages + 4)
      assert(!is(near.busy) && !is(near.offer(0)))
    }
  }

  test("a way is busy from a beat on until the lane has it") {
    run { bench =>
      import bench._
      offer(fast)
      step()
      near.in.valid.poke(false)
      // The lane is busy two cycles behind a beat.
      for (cycle <- 0 until 3 * SlrStage.stages) {
        assert(is(near.busy), s"cycle $cycle")
        if (cycle == SlrStage.stages + 1) far.busy.poke(true)
        step()
      }
    }
  }

  test("what comes late behind a stop of the merge is kept") {
    run { bench =>
      import bench._
      // A lane that reads a beat in each cycle; it is at the far end two cycles later.
      val read = scala.collection.mutable.Queue.fill(2)(Option.empty[Int])
      var (sent, got) = (0, Seq.empty[BigInt])
      for (cycle <- 0 until 200) {
        near.out.ready.poke(cycle > 80)
        if (is(near.out.valid) && cycle > 80) got :+= near.out.bits.data.peek().litValue
        read.enqueue(Option.when(!is(far.stop) && sent < 60)(sent))
        if (read.last.isDefined) sent += 1
        val out = read.dequeue()
        far.out.valid.poke(out.isDefined)
        far.out.bits.data.poke(out.getOrElse(0))
        step()
      }
      assert(got == (0 until 60).map(BigInt(_)))
    }
  }
}
