// SPDX-License-Identifier: Apache-2.0
package sallyport.formal

import sallyport.formal.cipher.{AesSboxProperty, Sm4SboxProperty}
import sallyport.formal.crossing.SlrPipeProperty
import sallyport.formal.dispatch._
import sallyport.formal.harness.Property
import sallyport.formal.keys._
import sallyport.formal.lane.EspJudgeProperty
import sallyport.formal.link.LinkCreditProperty
import sallyport.formal.queue._
import sallyport.formal.registers.VotedRegisterProperty
import sallyport.formal.table.{FirstMatchProperty, TableAccessProperty, TableMuxProperty, TableWindowProperty}

/**
 * A property by the name that `make formal PROPERTY=name` takes.
 *
 * @param quick it takes a few seconds, and `make test` proves it too
 */
class Entry(val name: String, val quick: Boolean, val make: () => Property)

object Entry {
  def apply(name: String, quick: Boolean = false)(property: => Property): Entry =
    new Entry(name, quick, () => property)
}

/** Every property; formal/registry.py reads the names here. */
object Registry {
  val entries: Seq[Entry] = Seq(
    Entry("register-slice", quick = true)(new RegisterSliceProperty),
    Entry("skid-buffer")(new SkidBufferProperty),
    Entry("shift-queue")(new ShiftQueueProperty),
    Entry("lut-queue")(new LutQueueProperty),
    Entry("memory-queue")(new MemoryQueueProperty),
    Entry("ring-queue")(new RingQueueProperty),
    Entry("late-queue")(new LateQueueProperty),
    Entry("slr-pipe")(new SlrPipeProperty),
    Entry("aes-sbox", quick = true)(new AesSboxProperty),
    Entry("sm4-sbox")(new Sm4SboxProperty),
    Entry("sequence")(new SequenceProperty),
    Entry("encrypt-decision")(new EncryptDecisionProperty),
    Entry("decrypt-decision")(new DecryptDecisionProperty),
    Entry("packet-pause", quick = true)(new PacketPauseProperty),
    Entry("zeroizer")(new ZeroizerProperty),
    Entry("erasure-time")(new ErasureTimeProperty),
    Entry("table-access")(new TableAccessProperty),
    Entry("table-window")(new TableWindowProperty),
    Entry("first-match")(new FirstMatchProperty),
    Entry("lane-picker")(new LanePickerProperty),
    Entry("secret-queue")(new SecretQueueProperty),
    Entry("order-arbiter")(new OrderArbiterProperty),
    Entry("merge")(new MergeProperty),
    Entry("dispatcher")(new DispatcherProperty),
    Entry("esp-judge")(new EspJudgeProperty),
    Entry("link-credit")(new LinkCreditProperty),
    Entry("packet-arbiter")(new PacketArbiterProperty),
    Entry("table-mux")(new TableMuxProperty),
    Entry("esn")(new EsnProperty),
    Entry("number-raise")(new NumberRaiseProperty),
    Entry("voted-register")(new VotedRegisterProperty)
  )
}
