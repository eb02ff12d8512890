// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util.HasExtModuleInline
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.elaborate.Emit
import sallyport.common.simulation.{CompiledOnce, SpecFolder}

import java.nio.file.Files
import scala.util.Random

class MemoryModuleSpec extends AnyFunSuite with CompiledOnce {

  /**
   * The Verilog of a memory with one read port, and one for writing or for both; under firtool's
   * port names.
   */
  private class Lifted(shape: MemoryShape) extends ExtModule with HasExtModuleInline {
    override def desiredName: String = shape.name
    private val shared = shape.ports(1).endsWith("rw")
    private val second = if (shared) "RW0" else "W0"
    private def port[T <: Data](name: String, data: T): T = IO(data).suggestName(name)
    private val address = UInt(shape.addressBits.W)
    private val row = UInt(shape.width.W)
    val readAddress = port("R0_addr", Input(address))
    val readEnable = port("R0_en", Input(Bool()))
    val readClock = port("R0_clk", Input(Clock()))
    val readData = port("R0_data", Output(row))
    val addr = port(s"${second}_addr", Input(address))
    val en = port(s"${second}_en", Input(Bool()))
    val clk = port(s"${second}_clk", Input(Clock()))
    val wmode = Option.when(shared)(port("RW0_wmode", Input(Bool())))
    val wdata = port(if (shared) "RW0_wdata" else "W0_data", Input(row))
    val rdata = Option.when(shared)(port("RW0_rdata", Output(row)))
    val masks = shape.width / shape.grain
    val mask = Option.when(masks > 1)(port(if (shared) "RW0_wmask" else "W0_mask", Input(UInt(masks.W))))
    setInline(s"${shape.name}.sv", MemoryModule.text(shape))
  }

  private class Bench(shape: MemoryShape) extends Module {
    private val memory = Module(new Lifted(shape))
    memory.readClock := clock
    memory.clk := clock
    val readAddress = IO(Input(UInt(shape.addressBits.W)))
    val readEnable = IO(Input(Bool()))
    val readData = IO(Output(UInt(shape.width.W)))
    val address = IO(Input(UInt(shape.addressBits.W)))
    val enable = IO(Input(Bool()))
    val write = IO(Input(Bool()))
    val data = IO(Input(UInt(shape.width.W)))
    val mask = IO(Input(UInt(memory.masks.W)))
    val secondData = IO(Output(UInt(shape.width.W)))
    memory.readAddress := readAddress
    memory.readEnable := readEnable
    readData := memory.readData
    memory.addr := address
    memory.en := enable && (write || memory.wmode.isDefined.B)
    memory.wmode.foreach(_ := write)
    memory.wdata := data
    memory.mask.foreach(_ := mask)
    secondData := memory.rdata.getOrElse(0.U)
  }

  private def shape(depth: Int, width: Int, ports: String, grain: Int = 0) =
    MemoryShape("lifted_ext", depth, width, ports.split(",").toSeq, if (grain == 0) width else grain)

  /** Random reads and writes of few rows, so that they meet, against an array. */
  private def check(shape: MemoryShape): Unit = simulate(new Bench(shape)) { bench =>
    val random = new Random(3)
    val rows = Seq.fill(6)(random.nextInt(shape.depth)) :+ 0 :+ (shape.depth - 1)
    val model = scala.collection.mutable.Map[Int, BigInt]()
    val parts = shape.width / shape.grain
    val part = (BigInt(1) << shape.grain) - 1
    def row(): Int = rows(random.nextInt(rows.size))
    var first, second = Option.empty[BigInt]
    var reads = 0
    for (n <- 0 until 2000) {
      val (readRow, other) = (row(), row())
      val (readEnable, enable, write) = (random.nextBoolean(), random.nextInt(4) > 0, n < 200 || random.nextBoolean())
      // Whole rows first, so that parts go into rows that are known.
      val mask = if (n < 200 || parts == 1) (BigInt(1) << parts) - 1 else BigInt(parts, random)
      val data = BigInt(shape.width, random)
      bench.readAddress.poke(readRow)
      bench.readEnable.poke(readEnable)
      bench.address.poke(other)
      bench.enable.poke(enable)
      bench.write.poke(write)
      bench.mask.poke(mask)
      bench.data.poke(data)
      bench.clock.step()
      if (readEnable) first = model.get(readRow)
      if (enable && !write && shape.ports(1).endsWith("rw")) second = model.get(other)
      if (enable && write) {
        val bits = (0 until parts).filter(mask.testBit(_)).map(part << _ * shape.grain).foldLeft(BigInt(0))(_ | _)
        model(other) = data & bits | model.getOrElse(other, BigInt(0)) & ~bits
      }
      for (value <- first) { bench.readData.expect(value); reads += 1 }
      second.foreach(bench.secondData.expect(_))
    }
    assert(reads > 1000)
  }

  test("a memory of URAM and block RAM side by side reads what was written, the old row beside a write") {
    val deep = shape(8192, 110, "read,write")
    assert(MemoryBinding(deep).map(_.kind) == Seq(MemoryKind.Uram, MemoryKind.Bram))
    check(deep)
  }

  test("a memory of block RAM with the small rest of its rows in LUT RAM") {
    val fifo = shape(512, 80, "read,write")
    assert(MemoryBinding(fifo) == Seq(MemorySlice(MemoryKind.Bram, 0, 72), MemorySlice(MemoryKind.Lutram, 72, 8)))
    check(fifo)
    for (
      (depth, width, ports) <- Seq(
        (1024, 80, "read,write"),
        (512, 91, "read,write"),
        (512, 72, "read,write"),
        (512, 18, "read,write"),
        (512, 80, "rw")
      )
    )
      assert(MemoryBinding(shape(depth, width, ports)).map(_.kind) == Seq(MemoryKind.Bram), s"$depth x $width $ports")
  }

  test("a small rest whose address comes late is in block RAM") {
    for (width <- Seq(373, 378, 1018)) {
      val whole = width / 72 * 72
      val slices = Seq(MemorySlice(MemoryKind.Bram, 0, whole), MemorySlice(MemoryKind.Bram, whole, width - whole))
      assert(MemoryBinding(shape(512, width, "read,write")) == slices)
    }
    check(shape(512, 373, "read,write"))
  }

  test("a port that reads or writes")(check(shape(4096, 80, "read,rw")))

  test("rows written in parts") {
    check(shape(64, 48, "read,mwrite", 8))
    check(shape(512, 48, "read,mrw", 8))
  }

  test("the slices of every shape cover its rows once, and a column of URAM is full or nearly so") {
    for (depth <- Seq(2, 64, 65, 2048, 4096, 65536, 131072); width <- 1 to 300) {
      val slices = MemoryBinding(shape(depth, width, "read,write"))
      assert(slices.scanLeft(0)(_ + _.width) == slices.map(_.lsb) :+ width)
      for (slice <- slices if slice.kind == MemoryKind.Uram)
        assert(slice.width % 72 == 0 || slice.width % 72 >= 54, s"$depth x $width")
    }
  }

  /** The clocks of the always blocks that name an array of this style. */
  private def clocks(text: String, style: String): Set[String] =
    text
      .split("always @")
      .tail
      .filter(_.takeWhile(_ != ';').contains(style))
      .map("posedge (\\w+)".r.findFirstMatchIn(_).get.group(1))
      .toSet

  test("an array of URAM has one clock, and each port of block RAM its own (UG573)") {
    val text = MemoryModule.text(shape(8192, 110, "read,rw"))
    assert(clocks(text, "ultra") == Set("R0_clk"))
    assert(clocks(text, "block") == Set("R0_clk", "RW0_clk"))
  }

  test("a column of URAM is four blocks high at most, and a deeper memory is refused (UG573, UG901)") {
    val attributes = "ram_style = \"(\\w+)\"(?:, cascade_height = (\\d+))?".r
    def height(shape: MemoryShape) = attributes.findAllMatchIn(MemoryModule.text(shape)).map(_.subgroups).toSeq
    assert(height(shape(16384, 110, "read,write")) == Seq(Seq("ultra", "4"), Seq("block", null)))
    assert(height(shape(4096, 72, "read,write")) == Seq(Seq("ultra", null)))
    assert(height(shape(65536, 128, "read,write")) == Seq(Seq("block", null)))
    val refusal = intercept[IllegalArgumentException](MemoryModule.text(shape(65536, 72, "read,write")))
    assert(refusal.getMessage.contains("65536 rows in one bank of URAM: build it as a RowMemory of several"))
    assert(height(shape(32768, 72, "read,write")) == Seq(Seq("ultra", "4")))
  }

  test("every memory that firtool lifts out of a design gets its module") {
    class Design extends Module {
      val address = IO(Input(UInt(13.W)))
      val data = IO(Input(UInt(100.W)))
      val write = IO(Input(Bool()))
      val out = IO(Output(UInt(100.W)))
      val bytes = IO(Output(UInt(16.W)))
      private val deep = SyncReadMem(8192, UInt(100.W))
      when(write)(deep.write(address, data))
      out := deep.read(~address, true.B)
      private val shallow = SyncReadMem(32, Vec(2, UInt(8.W)))
      when(write)(shallow.write(address, VecInit(data(7, 0), data(15, 8)), Seq(data(16), data(17))))
      bytes := shallow.read(address >> 2).asUInt
    }
    val folder = SpecFolder("MemoryModuleSpec", "memories")
    Emit(new Design, folder, bindsMemories = true)
    val shapes = MemoryShape.list(Files.readString(folder.resolve("memories.conf")))
    assert(shapes.map(s => (s.depth, s.width, s.grain)).toSet == Set((8192, 100, 100), (32, 16, 8)))
    val styles = shapes.map(s => "\"(\\w+)\"".r.findAllIn(Files.readString(folder.resolve(s"${s.name}.sv"))).toSeq)
    assert(styles.flatten.toSet == Set("\"ultra\"", "\"block\"", "\"distributed\""))
  }
}
