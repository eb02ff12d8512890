// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Dispatch => Mode}
import sallyport.common.simulation.CompiledOnce
import sallyport.iface.chip.InterfaceConfig
import sallyport.iface.dispatch.Nodes
import sallyport.iface.reassembly.ChipFragments

/** Nodes of a cluster that all receive the same frames from black: one chip plays them in turn. */
class OuterDispatchSpec extends AnyFunSuite with CompiledOnce {
  private val config = OuterConfig(chip = InterfaceConfig(puntBeats = 256))
  private val count = 3

  /** The frames that some node must take; the others every node drops, or one of them does. */
  private val taken = OuterFrames.all.filter(_.outcome match {
    case _: Outcome.Drop => false
    case _ => true
  })

  private def inOrder(outcomes: Seq[Outcome]): Seq[String] = outcomes.map(_.toString).sorted

  for ((name, mode) <- Seq("session" -> Mode.session, "packet" -> Mode.packet))
    test(s"by $name: each frame is one node's, which does what a box alone does; fragments of ESP become one packet") {
      simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
        val bench = new OuterDecryptBench(dut, config)
        bench.start()

        /** What a node does with frames, and what it counts. */
        def atNode(number: Int)(frames: Seq[Seq[Byte]]): (Seq[Outcome], Map[String, Int]) = {
          val node = Nodes.dispatch(mode, number, count)
          dut.io.receive.dispatch.mode.poke(node.mode)
          dut.io.receive.dispatch.speaker.poke(node.speaker)
          dut.io.receive.dispatch.owned.poke(node.owned)
          dut.io.receive.dispatch.key.poke(node.key)
          val before = bench.counts
          bench.linked = Vector.empty
          bench.punted = Vector.empty
          frames.foreach(bench.send(_, interval = 2))
          for (_ <- 0 until 3) bench.settle()
          (bench.linked ++ bench.punted, bench.since(before))
        }
        def atAll(frames: Seq[Seq[Byte]]) = Seq.tabulate(count)(atNode(_)(frames))

        val nodes = atAll(taken.map(_.bytes))
        val outcomes = nodes.flatMap(_._1)
        assert(taken.filterNot(frame => outcomes.contains(frame.outcome)).map(_.name).isEmpty, "no node takes them")
        assert(inOrder(outcomes.diff(taken.map(_.outcome))).isEmpty, "they come twice")
        assert(outcomes.size == taken.size)
        // ESP is its number's owner's, as a model of the hash has it.
        for (((taken, _), number) <- nodes.zipWithIndex; Outcome.Link(_, false, _, esp) <- taken)
          assert(Nodes.ofEsp(mode, esp) % count == number, esp.take(8))
        for (((_, counts), number) <- nodes.zipWithIndex) {
          assert(counts.getOrElse("tx_esp", 0) > 0, s"node $number has no share")
          val passed = Seq("tx_esp", "tx_bypass", "punted").map(counts.getOrElse(_, 0)).sum
          assert(counts("dispatch") == taken.size - passed, s"node $number: $counts")
        }
        // The speaker has all that any node punts for its kind, not for a policy.
        val speaks = (o: Outcome) =>
          o match {
            case Outcome.Punt(reason, _) => !Nodes.byBucket.contains(reason)
            case _ => false
          }
        assert(!nodes.tail.flatMap(_._1).exists(speaks))

        for (cut <- ChipFragments.of("outer")) {
          val whole = atAll(Seq(cut.whole)).flatMap(_._1)
          val fragments = atAll(cut.fragments).flatMap(_._1)
          assert(whole.size == 1, cut.name)
          whole.head match {
            case Outcome.Link(_, false, _, _) => assert(fragments == whole, cut.name)
            case _ => assert(fragments.size == cut.fragments.size, cut.name)
          }
        }
      }
    }
}
