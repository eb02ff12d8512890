// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.stream.RegisterSlice

/** A rule's result, to be written to its row. */
class RuleResult(p: TernaryTableParams) extends Bundle {
  val index = UInt(p.indexBits.W)

  /** A bit of even parity above the result. */
  val word = UInt((p.maskLsb - p.keyBits + 1).W)
}

/**
 * Turns software's rows into columns of [[RuleMatch]] and keeps them for reading back.
 *
 * A row that became invalid, or with a change of its result alone, takes some 7 cycles. Any other
 * matches nothing while the columns of its group of rows are written anew, from software's copies
 * of those rows: one for each address, in cycles in which `column` is ready.
 *
 * The columns of a group in `doubted` are written anew in the same way when software writes no row,
 * and its rows become valid as the copies say. Software's copies have a bit of even parity. If that
 * of another row of the group than software writes is wrong, the columns become doubtful, until
 * software writes that row.
 */
class RuleWriter(p: TernaryTableParams) extends Module {
  import RuleMatch.{chunkBits, chunks, groupRows}

  val io = IO(new Bundle {

    /** Of [[TableAccess]]: held until ready; reads are answered on `data` 2 cycles after. */
    val software = Flipped(Decoupled(new RowAccess(p.indexBits, p.rowBits)))
    val data = Output(UInt(p.rowBits.W))
    val clearing = Input(Bool())
    val column = Decoupled(new RuleColumn(p))
    val valid = Output(new ValidRows(p))

    /** Groups of rows whose columns, or bits of `valid`, have flipped bits. */
    val doubted = Input(UInt((p.rows / groupRows).W))

    /** Columns are, or are to be, written. */
    val busy = Output(Bool())

    /** Written in a cycle in which none is read. */
    val result = Decoupled(new RuleResult(p))
  })

  private object State extends ChiselEnum { val idle, look, compare, reduce, decide, load, fill, drain, finish = Value }
  import State._
  private val state = RegInit(idle)
  private val software = io.software.bits

  // A bit of `valid` takes its group's parity with it, so that a wrong parity stays wrong.
  private val valid = RegInit(0.U(p.rows.W))
  private val validParity = RegInit(0.U((p.rows / groupRows).W))
  private val starts = io.software.valid && software.write && !io.clearing
  private val finishes = state === finish && io.result.ready && !io.clearing

  /** Bits of `valid` that flip now: a test's. */
  protected def validFlips: UInt = 0.U

  /** A copy with its parity, as the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  // Software's rows. One port: software and this machine take turns.
  private val copies = SyncReadMem(p.rows, UInt((p.rowBits + 1).W))
  private val parity = RegNext(software.row.xorR) && !io.clearing
  private val count = Reg(UInt(log2Ceil(groupRows + 3).W))
  private val groupLow = log2Ceil(groupRows)

  // The group whose columns are written: of software's row, or one that needs it.
  private val group = Reg(UInt(log2Ceil(p.rows / groupRows).W))
  private val mends = Reg(Bool())
  private val waiting = RegInit(0.U((p.rows / groupRows).W))
  private val loading = state === load
  private val copy = copies.readWrite(
    Mux(loading, Cat(group, count(groupLow - 1, 0)), software.index),
    Cat(parity, software.row),
    io.clearing || finishes || state === idle && io.software.valid || loading,
    io.clearing || finishes
  )
  private val word = RegNext(answered(copy))
  private val copied = word(p.rowBits - 1, 0)
  io.data := copied
  io.software.ready := io.clearing || finishes || state === idle && !software.write

  // The group's rows, the new one among them.
  private val values = Reg(Vec(groupRows, UInt(p.keyBits.W)))
  private val masks = Reg(Vec(groupRows, UInt(p.keyBits.W)))
  private val valids = Reg(UInt(groupRows.W))
  private def value(row: UInt): UInt = row(p.keyBits - 1, 0)
  private def mask(row: UInt): UInt = row(p.rowBits - 1, p.maskLsb)
  private def isValid(row: UInt): Bool = row(p.valid.lsb)

  // Only the result changes, and the copy has no flipped bit. Two steps, for some 700 bits are
  // compared.
  private val differences = value(copied) ^ value(software.row) | mask(copied) ^ mask(software.row)
  private val differs = RegNext(VecInit(differences.asBools.grouped(chunkBits).map(VecInit(_).asUInt.orR).toSeq))
  private val bothValid = RegNext(isValid(software.row) && isValid(copied))
  private val isWrong = RegNext(word.xorR)
  private val stays = RegNext(bothValid && !differs.asUInt.orR && !isWrong)
  private val address = Reg(UInt(chunkBits.W))
  private val select = UIntToOH(software.index, p.rows)
  private val ownGroup = UIntToOH(software.index >> groupLow, p.rows / groupRows)
  private val ownValids = RegNext(VecInit.tabulate(p.rows / groupRows)(io.valid.group)(software.index >> groupLow))
  private val wasValid = RegNext(ownValids(software.index(groupLow - 1, 0)))
  private val groupSelect = UIntToOH(group, p.rows / groupRows)
  private val mended = Reg(UInt((p.rows / groupRows).W))
  mended := groupSelect
  private val doubtful = Reg(Bool())
  private val columns = Module(new RegisterSlice(new RuleColumn(p)))
  io.column <> columns.io.out
  waiting := waiting | io.doubted
  when(io.clearing) {
    state := idle
    valid := 0.U
    validParity := 0.U
    waiting := 0.U
  }.otherwise {
    switch(state) {
      is(idle) {
        mends := !starts
        count := 0.U
        when(starts) {
          group := software.index >> groupLow
          state := look
        }.elsewhen(!io.software.valid) {
          when((waiting >> group)(0)) { state := load }.elsewhen((p.rows > groupRows).B) { group := group + 1.U }
        }
      }
      is(look)(state := compare)
      is(compare)(state := reduce)
      is(reduce)(state := decide)
      is(decide) {
        when(!stays) {
          valid := valid & ~select
          when(wasValid)(validParity := validParity ^ ownGroup)
        }
        state := Mux(stays || !isValid(software.row), finish, load)
      }
      is(load) {
        count := count + 1.U
        when(count === (groupRows + 2).U)(state := fill)
        address := 0.U
        waiting := waiting & ~groupSelect | io.doubted
      }
      is(fill) {
        when(columns.io.in.ready) {
          address := address + 1.U
          when(address.andR)(state := drain)
        }
      }
      is(drain) {
        when(!columns.io.out.valid) {
          state := Mux(mends, idle, finish)
          when(mends && !doubtful) {
            val rows = FillInterleaved(groupRows, mended)
            valid := valid & ~rows | Fill(p.rows / groupRows, valids) & rows
            validParity := validParity & ~mended | Mux(valids.xorR, mended, 0.U)
          }
        }
      }
      is(finish) {
        when(finishes) {
          state := idle
          when(isValid(software.row)) {
            valid := valid | select
            when(!wasValid)(validParity := validParity ^ ownGroup)
          }
        }
      }
    }
  }

  // A copy comes 2 cycles after its number, and its parity one more.
  private val come = count - 2.U
  private val own = !mends && come(groupLow - 1, 0) === software.index(groupLow - 1, 0)
  private val row = Mux(own, software.row, copied)
  for (i <- 0 until groupRows) when(loading && come === i.U) {
    values(i) := value(row)
    masks(i) := mask(row)
  }
  when(loading && come < groupRows.U)(valids := Cat(isValid(row), valids) >> 1)
  private val isCopy = RegNext(loading && come < groupRows.U && !own, false.B)
  when(state === idle) { doubtful := false.B }.elsewhen(isCopy && isWrong) { doubtful := true.B }

  // Registered, for each bit goes to every group of a memory. A column left behind by a clear meets
  // rows that are not valid.
  columns.io.in.valid := state === fill
  columns.io.in.bits.address := address
  columns.io.in.bits.group := group
  columns.io.in.bits.doubtful := doubtful
  for ((bits, i) <- columns.io.in.bits.bits.zipWithIndex) {
    def chunk(of: UInt): UInt = of.pad(chunks(p) * chunkBits)((i + 1) * chunkBits - 1, i * chunkBits)
    bits := VecInit(values.zip(masks).map { case (v, m) => ((address ^ chunk(v)) & chunk(m)) === 0.U }).asUInt
  }
  when(validFlips.orR)(valid := valid ^ validFlips)
  io.valid.rows := valid
  io.valid.parity := validParity
  io.result.valid := finishes && isValid(software.row)
  io.result.bits.index := software.index
  private val result = software.row(p.maskLsb - 1, p.keyBits)
  io.result.bits.word := Cat(RegNext(result.xorR), result)
  io.busy := waiting.orR || state =/= idle
}
