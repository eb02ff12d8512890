// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOtherClients: clients that the project did not write get the same answers: gRPC by grpcio
// with HPKE by pyca/cryptography, and JSON over HTTP by curl.
func TestOtherClients(t *testing.T) {
	r, _ := configured(t)
	t.Run("grpcio", func(t *testing.T) {
		if exec.Command("python", "-c", "import grpc; from cryptography.hazmat.primitives import hpke").Run() != nil {
			t.Skip("there is no grpcio, or no HPKE in pyca/cryptography")
		}
		out, err := exec.Command("python", "testdata/client.py", r.path).CombinedOutput()
		want := "0x00001001\n0x00002001\n0x00000777\n" + `INVALID_ARGUMENT what must be "state" or "policy"` + "\n" +
			`UNIMPLEMENTED this sallyportd speaks version 1.1 of its API, and the client another, "2": use programs of one release` + "\n"
		if err != nil || string(out) != want {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("curl", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		for _, test := range [][3]string{
			{"QueryState", `{"dst":"192.0.2.2","proto":"esp","spi":4097}`, `"seq":"0"`},
			{"Command", `{"words":["xfrm","state","count"]}`, `"output":"\t SAD count`},
			{"List", `{"what":"nothing"}`, `{"code":"invalid_argument","message":"what must be \"state\" or \"policy\""}`},
			{"List", `{"which":"state"}`, `{"code":"invalid_argument"`},
		} {
			out, err := exec.Command("curl", "-sS", "--unix-socket", r.path, "-H", "Content-Type: application/json", "-d", test[1], "http://localhost/sallyport.v1.BoxService/"+test[0]).CombinedOutput()
			if err != nil || !strings.Contains(string(out), test[2]) {
				t.Errorf("%s %s: %v %s", test[0], test[1], err, out)
			}
		}
	})
}
