// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Dispatch => Mode}
import sallyport.iface.dispatch.{Dispatch, Nodes}

/** Nodes of a cluster that all receive the same frames from red: one chip plays them in turn. */
class InnerDispatchSpec extends AnyFunSuite with InnerPathsModel {
  private val count = 3
  private val own = encrypts.find(_.expected.exists(_.sa == 5)).get

  /** The frames that a box alone drops, though each node may drop them for another. */
  private val dropped = encrypts.filter(_.counter.startsWith("drop_"))

  for ((name, mode) <- Seq("session" -> Mode.session, "packet" -> Mode.packet))
    test(s"by $name: each frame is one node's, which does what a box alone does") {
      simulatePaths { (_, bench) =>
        bench.start()
        val frames = encrypts.diff(dropped)
        val nodes = Seq.tabulate(count) { number =>
          for ((register, value) <- Nodes.dispatch(mode, number, count).registers) bench.bus.write(register, value)
          val before = bench.counters()
          bench.toLink.clear()
          bench.punts.clear()
          for (row <- frames) bench.receive(row.frame, gap = 20) // the punt queue is short
          bench.idle(1000)
          (bench.toLink.toSeq, bench.punts.toSeq, bench.balanced(before))
        }
        expect(sorted(nodes.flatMap(_._1)), sorted(frames.flatMap(_.expected)), "packet")(show)
        val punted = frames.filter(row => reasons.contains(row.counter))
        assert(nodes.flatMap(_._2).map(_._1).sorted == punted.map(row => reasons(row.counter)).sorted)
        assert(nodes.map(_._3("drop_dispatch")).sum == (count - 1) * frames.size)
        for ((packets, punts, _) <- nodes.tail)
          assert(packets.nonEmpty && punts.forall(punt => Nodes.byBucket.contains(punt._1)))
      }
    }

  test("what the management CPU sends by policy goes out where it is sent") {
    simulatePaths { (_, bench) =>
      bench.start()
      // A node without a bucket, as one that has just joined.
      val none = Nodes.dispatch(Mode.packet, Dispatch.buckets, Dispatch.buckets + 1)
      for ((register, value) <- none.registers) bench.bus.write(register, value)
      bench.inject(own.frame, encrypt = true)
      bench.idle(300)
      assert(bench.toLink.map(_.sa).toSeq == Seq(5))
      bench.toLink.clear()
      bench.receive(own.frame, gap = 300)
      assert(bench.toLink.isEmpty, "a node without buckets takes a frame")
    }
  }
}
