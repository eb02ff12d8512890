// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os/exec"
	"strings"
	"testing"
)

// answersOfGRPC are what testdata/client.py prints.
const answersOfGRPC = "0x00001001\n0x00002001\n0x00000777\n" + `INVALID_ARGUMENT what must be "state" or "policy"` + "\n" +
	`UNIMPLEMENTED this sallyportd speaks version 1.1 of its API, and the client another, "2": use programs of one release` + "\n"

// TestOtherClients: clients that the project did not write get the same answers: gRPC by grpcio
// with HPKE by pyca/cryptography, and JSON over HTTP by curl.
func TestOtherClients(t *testing.T) {
	r, _ := configured(t)
	t.Run("grpcio", func(t *testing.T) {
		if exec.Command("python", "-c", "import grpc; from cryptography.hazmat.primitives import hpke").Run() != nil {
			t.Skip("there is no grpcio, or no HPKE in pyca/cryptography")
		}
		out, err := exec.Command("python", "testdata/client.py", r.path).CombinedOutput()
		if err != nil || string(out) != answersOfGRPC {
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

// TestOtherRemoteClients: over the network the same clients get the same answers by mutual TLS, and
// openssl finds no version but 1.3.
func TestOtherRemoteClients(t *testing.T) {
	n := newNetworked(t)
	t.Run("grpcio", func(t *testing.T) {
		if exec.Command("python", "-c", "import grpc; from cryptography.hazmat.primitives import hpke").Run() != nil {
			t.Skip("there is no grpcio, or no HPKE in pyca/cryptography")
		}
		out, err := exec.Command("python", "testdata/client.py", n.address, "box-a", n.file("controller.pem"), n.file("controller.key"), n.file("boxes.pem")).CombinedOutput()
		if err != nil || string(out) != answersOfGRPC {
			t.Errorf("%v\n%s", err, out)
		}
		out, err = exec.Command("python", "testdata/client.py", n.address, "box-a", n.file("watcher.pem"), n.file("watcher.key"), n.file("boxes.pem")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "PERMISSION_DENIED") || !strings.Contains(string(out), "this client may read alone") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("curl", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		_, port, _ := strings.Cut(n.address, ":")
		curl := func(name string, more ...string) (string, error) {
			arguments := append([]string{"-sS", "--resolve", "box-a:" + port + ":127.0.0.1", "--cacert", n.file("boxes.pem"), "-H", "Content-Type: application/json"}, more...)
			if name != "" {
				arguments = append(arguments, "--cert", n.file(name+".pem"), "--key", n.file(name+".key"))
			}
			out, err := exec.Command("curl", append(arguments, "-d", `{"what":"policy"}`, "https://box-a:"+port+"/sallyport.v1.BoxService/List")...).CombinedOutput()
			return string(out), err
		}
		n.authority.Sign(t, n.folder, "stranger")
		for _, way := range []string{"--http1.1", "--http2"} {
			if out, err := curl("watcher", way); err != nil || !strings.Contains(out, "10.2.0.0/16") {
				t.Errorf("%s: %v %s", way, err, out)
			}
			for name, want := range map[string]string{"": "certificate required", "stranger": "bad certificate"} {
				if out, err := curl(name, way); err == nil || !strings.Contains(out, want) {
					t.Errorf("%s %s: %v %s", way, name, err, out)
				}
			}
		}
		if out, err := curl("watcher", "--tls-max", "1.2"); err == nil {
			t.Errorf("TLS 1.2: %s", out)
		}
	})
	t.Run("openssl", func(t *testing.T) {
		if _, err := exec.LookPath("openssl"); err != nil {
			t.Skip(err)
		}
		for version, want := range map[string]string{"-tls1_3": "New, TLSv1.3", "-tls1_2": "alert protocol version"} {
			command := exec.Command("openssl", "s_client", version, "-connect", n.address, "-cert", n.file("watcher.pem"), "-key", n.file("watcher.key"))
			command.Stdin = strings.NewReader("")
			if out, _ := command.CombinedOutput(); !strings.Contains(string(out), want) {
				t.Errorf("%s: %s", version, out)
			}
		}
	})
}
