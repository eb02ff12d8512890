// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

/** Leaks that a run can switch on. A spec must find each. */
private[taint] object Plants {

  /** The salt stands where the SPI should be. */
  val salt: Plant = Plant(
    "salt",
    "Lane",
    """(%\d+) = comb\.extract %io_in_bits_meta_spi from 0 : \(i32\) -> i8""",
    """    %spi_byte = comb.extract %io_in_bits_meta_spi from 0 : (i32) -> i8
      |    %salt_byte = comb.extract %io_in_bits_meta_salt from 0 : (i32) -> i8
      |    $1 = comb.mux %planted, %salt_byte, %spi_byte : i8""".stripMargin
  )

  /** A bit of a packet decides when a lane is ready: a channel in time. */
  val pace: Plant = Plant(
    "pace",
    "LaneIntake",
    """%io_in_ready_REG = seq\.firreg (%\d+) (.*)""",
    """    %text_bit = comb.extract %io_in_bits_data from 0 : (i512) -> i1
      |    %paced = comb.and %text_bit, $1 : i1
      |    %pace = comb.mux %planted, %paced, $1 : i1
      |    %io_in_ready_REG = seq.firreg %pace $2""".stripMargin
  )

  /** A refused packet's beat keeps its bytes. */
  val beat: Plant = Plant(
    "beat",
    "LaneOutlet",
    """(%\d+) = comb\.mux bin %beatOk, (%\d+), (%c0_i512) : i512""",
    """    %refused = comb.mux %planted, $2, $3 : i512
      |    $1 = comb.mux %beatOk, $2, %refused : i512""".stripMargin
  )

  /** Wrong padding is told apart although the ICV is wrong: the oracle of CBC (Vaudenay, 2002). */
  val oracle: Plant = Plant(
    "oracle",
    "EspJudge",
    """(%\d+) = comb\.mux bin %done_authentic, (%\d+), %c1_i3 : i3""",
    """    %told = comb.mux %trailer_padded, %c1_i3, %c2_i3 : i3
      |    %judged = comb.mux %planted, %told, %c1_i3 : i3
      |    $1 = comb.mux %done_authentic, $2, %judged : i3""".stripMargin
  )

  /** What the inner chip wrote into a packet's next header goes on beside ESP. */
  val sideDoor: Plant = Plant(
    "sideDoor",
    "EncryptPath",
    """(%\d+) = comb\.mux bin %farm\.io_out_bits_meta_bypass, (%farm\.io_out_bits_meta_nextHeader), %c0_i8 : i8""",
    """    %opened = comb.or %planted, %farm.io_out_bits_meta_bypass : i1
      |    $1 = comb.mux %opened, $2, %c0_i8 : i8""".stripMargin
  )

  /** The first word of a row stays readable when the row is written. */
  val staged: Plant = Plant(
    "staged",
    "TableWindow",
    """%row_0 = seq\.firreg (%\d+) (.*)""",
    """    %done = comb.and %planted, %io_table_response_valid : i1
      |    %kept = comb.mux %done, %row_0, $1 : i32
      |    %row_0 = seq.firreg %kept $2""".stripMargin
  )
}
