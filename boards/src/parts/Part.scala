// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.parts

import chisel3.RawModule

/**
 * A module of the shell that is simulated or synthesised by itself, under the name of
 * its folder.
 */
case class Part(name: String, design: () => RawModule)
