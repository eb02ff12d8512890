// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.suite

import mainargs.Flag
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.elaborate.Elaboration
import sallyport.crypto.CryptoElaboration

class SuiteSpec extends AnyFunSuite {
  private def refusal(suites: String): String = intercept[IllegalArgumentException](
    CryptoElaboration(Elaboration("out", "0.0.0", Flag()), Some(suites), None, None, Flag(), Flag()).config
  ).getMessage

  test("a suite that RFC 8221 forbids is refused for that, and one that never was as unknown") {
    Seq("des-md5", "3des-sha1", "aes256-md5", "blowfish128-sha1").foreach { name =>
      assert(refusal(s"aes256gcm16,$name").startsWith(s"suite $name is refused: RFC 8221 forbids it"))
    }
    Seq("aes256-sha512", "describe", "").foreach { name =>
      assert(refusal(s"$name,").startsWith(s"no suite is called $name;"))
    }
    Suite.all.foreach(suite => assert(refusal("des").contains(suite.name)))
  }
}
