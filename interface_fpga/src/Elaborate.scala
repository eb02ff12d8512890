package sallyport.iface

import sallyport.common.{Elaboration, Emit}

/** Writes the interface chips' SystemVerilog: `--out FOLDER --version M.m.p [--small]`, into FOLDER/inner and FOLDER/outer. */
object Elaborate {
  def main(args: Array[String]): Unit = {
    val options = Elaboration.parse(args)
    val inner = InnerConfig(version = options.version)
    val outer = OuterConfig(version = options.version)
    val small = options.small.value
    // The smallest useful configurations: few SAs, few rules.
    Emit(new InnerCore(if (small) inner.copy(saBits = 6, flowBits = 6, rules = 8) else inner), options.folder("inner"))
    Emit(new OuterCore(if (small) outer.copy(saBits = 6, sadBits = 6, rules = 8) else outer), options.folder("outer"))
  }
}
