// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._

/** Where a frame of the management CPU goes. */
class InjectMeta extends Bundle {

  /**
   * Into the inner chip's encrypt path, by whose policies it goes; else out of the chip's own port,
   * which no policy judges.
   */
  val encrypt = Bool()
}
