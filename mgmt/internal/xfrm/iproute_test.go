// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// iproute runs lines through the machine's own ip in a network namespace with devices red and
// black and ipsec0, and says for each whether ip could read it. A line that only the kernel refuses
// counts as read, for it may lack ESP or XFRM interfaces. Then ip ends with 2, or names RTNETLINK
// or the type of the device.
func iproute(t *testing.T, lines []string) []bool {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("no ip command on this machine")
	}
	script := `set -e
ip link add red type veth peer name black; ip link set red up; ip link set black up
ip link add ipsec0 type veth peer name ipsec1; ip link set ipsec0 up; ip link set ipsec1 up
while IFS= read -r line; do
    printf '%s\n' "$line" >"$1/line"
    set +e; out=$("$2" -batch "$1/line" 2>&1); status=$?; set -e
    case "$status $out" in "0 "*|"2 "*|*RTNETLINK*|*"Unknown device type"*) echo read;; *) echo refused;; esac
done`
	dir := t.TempDir()
	cmd := exec.Command("unshare", "--net", "--map-root-user", "sh", "-c", script, "sh", dir, ip)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(err.Error() + ": " + string(exit.Stderr))
		}
		t.Skipf("no network namespace to try ip in: %v", err)
	}
	var read []bool
	for _, word := range strings.Fields(string(out)) {
		read = append(read, word == "read")
	}
	if len(read) != len(lines) {
		t.Fatalf("%d answers for %d lines:\n%s", len(read), len(lines), out)
	}
	return read
}

// TestSameSyntaxAsIproute: ip reads the lines that this parser reads, but for ranges, opaque, df,
// dscp, dummy, sas and `action punt`, which ip cannot read. Lines that ip reads and this box
// refuses are in TestRefusals, each with its reason.
func TestSameSyntaxAsIproute(t *testing.T) {
	state, policy := "xfrm state add "+sa, "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 "
	state6 := "xfrm state add src 2001:db8::1 dst 2001:db8::2 proto esp spi 1 mode tunnel "
	both := []string{
		state + "mode tunnel " + gcm,
		"x s a " + sa + "mode tu " + gcm,
		"xfrm sa add spi 4097 proto esp dst 192.0.2.2 src 192.0.2.1/32 mode tunnel " + gcm,
		state + "reqid 0x10 mode tunnel replay-window 0100 flag esn " + gcm,
		state + "mode tunnel mark 0 mask 0 replay-seq 0 seq 1 if_id 0 output-mark 0 tfcpad 0 " + gcm,
		state + "mode tunnel replay-window 4096 replay-seq 5 replay-seq-hi 0 flag esn " + gcm, state + "mode tunnel replay-window 64 replay-seq 5 " + gcm,
		state + "mode tunnel encap espinudp 4500 0x1194 0.0.0.0 " + gcm, state + "encap espinudp 61000 4500 198.51.100.7 mode tunnel " + gcm,
		state + "mode tunnel tfcpad 1400 " + gcm, state + "mode transport " + gcm, state + gcm, state + "mode tr reqid 5 " + gcm + " sel src 192.0.2.0/24 dst 192.0.2.2",
		"xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode transport",
		"xfrm policy add src 192.0.2.0/24 dst 192.0.2.0/24 dir in tmpl src 0.0.0.0 dst 0.0.0.0 proto esp reqid 5 mode transport", "xfrm policy add src 2001:db8::/32 dir fwd tmpl proto esp",
		state + "mode tunnel if_id 0x2a " + gcm, state + "if_id 4294967295 mode tunnel " + gcm, policy + "dir out if_id 42 " + tmpl, policy + "dir out action block if_id 0x2a",
		"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out if_id 0x2a", "xfrm policy get index 9 dir out if_id 7", "xfrm policy update dir out if_id 7 " + tmpl,
		"link add ipsec7 type xfrm dev black if_id 0x2a", "link add dev ipsec7 type xfrm if_id 4294967295 dev black", "route add 10.9.0.0/16 dev ipsec0", "link delete ipsec1 type xfrm",
		policy + "dir out flag icmp priority 5", policy + "dir fwd action block flag icmp",
		"link add br0 type bridge", "link set red nomaster", "link set dev black nomaster up",
		state + "mode tunnel flag noecn nopmtudisc icmp af-unspec align4 extra-flag dont-encap-dscp limit packet-hard 5 " + gcm,
		state + "mode tunnel limit time-soft 50 limit time-hard 0x40 limit time-use-soft 0 limit time-use-hard 18446744073709551615 " + gcm,
		state + "mode tunnel aead 'rfc4543(gcm(aes))' " + key256 + " 128", state + "mode tunnel aead 'rfc4106(gcm(sm4))' " + key128 + " 128",
		state + "mode tunnel aead \"rfc7539esp(chacha20,poly1305)\" " + key256 + " 128", state + "mode tunnel " + sha256 + " enc cbc(aes) " + aes128,
		state + "mode tunnel enc 'rfc3686(ctr(aes))' " + key256 + " " + sha256, state + "enc \"ecb(cipher_null)\" \"\" mode tunnel " + sha256,
		state + "mode tunnel enc aes " + aes256 + " auth sha1 " + sha1Key, state + "mode tunnel enc 'cbc(sm4)' " + aes128 + " auth 'hmac(sm3)' " + sha256Key,
		state + "mode tunnel enc 'rfc3686(ctr(sm4))' " + key128 + " auth-trunc 'hmac(sm3)' " + sha256Key + " 96",
		state + "mode tunnel sel src 10.1.0.0/16 dst 10.2/16 proto tcp sport 1 dport 2 " + gcm,
		"xfrm state delete dst 192.0.2.2 proto esp spi 0x1001", "xfrm state del src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001",
		"xfrm state flush proto esp", "xfrm state count", "xfrm state deleteall src 192.0.2.1 proto esp", "xfrm state list nokeys", "xfrm state",
		policy + "dir out", policy + "proto tcp dir fwd", policy + "proto udp sport 5 dport 6 dev black dir out index 257",
		policy + "dev none dir in ptype main priority 5 action allow limit packet-hard 18446744073709551615",
		policy + "proto 99 dir out action block", policy + "proto SCTP dport 0x10 dir out", policy + "dport 80 dir out",
		"xfrm policy add dir out", "xfrm policy add src 10.1 dst 10.2.0.0/255.255.0.0 dir in",
		policy + "proto esp dir out priority 9 " + tmpl + " reqid 7 level required",
		policy + "proto ah dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x55 mode tunnel reqid 0x7",
		"xfrm policy update src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 3", "xfrm policy get src 10.1.0.0/16 dst 10.2.0.0/16 dir out",
		"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out", "xfrm policy del index 9 dir out", "x p delall dir fwd",
		"xfrm policy list src 10.0.0.0/8 dir out", "xfrm policy count", "xfrm policy flush",
		"addr add 10.1.0.1/16 dev red", "a a local 10.1.0.2 brd + scope global dev black", "address del 10.1.0.1/16 dev red",
		"link set dev red mtu 1500 up", "link set black address 02:00:00:00:00:01 mtu 9000", "addr add 192.0.2.1/24 dev black",
		"route add 10.2.0.0/16 via 192.0.2.2 dev black mtu 1400", "route replace default via 192.0.2.2", "ro del 10.2/16",
		"neigh add 192.0.2.2 lladdr 02:00:00:00:00:01 nud permanent dev black", "n replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev black",
		state + "mode tunnel sel src 2001:db8::/32 proto ipv6-icmp type 0 code 255 " + gcm, state + "mode tunnel flag af-unspec sel dst ::/0 " + gcm,
		"xfrm policy add src 2001:db8::/32 dir out", "xfrm policy add src 2001::/255.255.0.0 dir out", "xfrm policy add dst 2001:db8::7 src ::/0 proto tcp dport 80 dir in",
		"xfrm policy add src ::ffff:10.0.0.0/104 dir out", "xfrm policy add dst 2001:db8:1::/48 dir out " + tmpl, "xfrm policy add dst ::/0 proto icmp dir out",
		policy + "proto icmp type 0 dir out", policy + "proto icmp code 0x3 dir out", "xfrm policy add type 8 proto icmp dst 10.0.0.0/8 dir out", policy + "proto ipv6-icmp dir out",
		"xfrm policy add proto 58 type 128 code 0 dst 2001:db8::/32 dir fwd", "xfrm policy list proto ipv6-icmp type 128",
		"xfrm policy add src ::/0 proto 135 type 5 dir out", "xfrm policy add src ::/0 proto mobility-header type 5 dir out", "xfrm policy list src ::/0", "xfrm policy delall proto icmp code 0",
		"xfrm policy delete dst 2001:db8:1::/48 dir out", "xfrm policy get proto icmp type 8 dir out",
		state6 + gcm, state6 + "sel proto tcp " + gcm, state6 + "sel dst 10.0.0.0/8 " + gcm, "xfrm policy add dst 2001:db8:2::/48 dir out " + tmpl6, "xfrm policy add dst 10.7.0.0/16 dir out " + tmpl6,
		"xfrm state delete dst 2001:db8::2 proto esp spi 1", "xfrm state get src 2001:db8::1 dst 2001:db8::2/128 proto esp spi 1", "xfrm state list src 2001:db8::9/32 dst ::/0",
		"xfrm state list src 192.0.2.1/24 proto esp", "xfrm state deleteall dst 2001:db8::2",
		"addr add 2001:db8::1/64 dev red", "addr add 2001:db8::3/64 nodad dev black", "addr add fe80::5 dev red", "addr del 2001:db8::3/64 dev black",
		"route add 2001:db8:9::/48 via 2001:db8::9 dev red", "route add default via 2001:db8::9 dev red", "route add via fe80::8 default dev black", "route replace default via inet6 2001:db8::7 dev red",
		"route del default via 2001:db8::9", "route add ::/0 dev black", "route add 10.77.0.0/16 via inet6 2001:db8::9 dev red",
		"neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 dev red nud permanent", "neigh add fe80::9 lladdr 02:00:00:00:00:09 router dev red", "neigh del fe80::9 dev red",
		"neighbour del 192.0.2.2 dev black", "neigh show", "addr show dev red", "", "   # nothing",
	}
	neither := []string{
		"frobnicate", "xfrm frob", "xfrm state frob", "xfrm policy frob", state + "mode tunnel frob " + gcm, state + "mode frob " + gcm,
		state + "mode tunnel src 192.0.2.9 " + gcm, "xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 1 mode tunnel " + gcm,
		"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto frob spi 1 mode tunnel " + gcm,
		"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1x mode tunnel " + gcm,
		"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100000000 mode tunnel " + gcm,
		"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 08 mode tunnel " + gcm,
		"xfrm state add src 192.0.2.256 dst 192.0.2.2 proto esp spi 1 mode tunnel " + gcm,
		state + "mode tunnel encap frob 4500 4500 0.0.0.0 " + gcm, state + "mode tunnel encap espinudp 4500 65536 0.0.0.0 " + gcm,
		state + "mode tunnel encap espinudp 4500 4500 " + gcm, state + "mode tunnel aead 'rfc4106(gcm(aes))' 0x00zz 128", state + "mode tunnel aead 'rfc4106(gcm(aes))' " + key128, state + "mode tunnel",
		state + "mode tunnel flag esn " + gcm, state + "mode tunnel flag frob " + gcm, state + "mode tunnel replay-window 5000 " + gcm,
		state + "mode tunnel limit frob 5 " + gcm, state + "mode tunnel limit time-hard 5s " + gcm, state + "mode tunnel " + gcm + " " + gcm,
		state + "mode tunnel enc cbc(aes) " + aes128 + " " + gcm, state + "mode tunnel enc cbc(aes) " + aes128 + " enc cbc(aes) " + aes128,
		state + "mode tunnel " + sha256 + " auth hmac(sha1) " + sha1Key + " enc cbc(aes) " + aes128, state + "mode tunnel auth-trunc hmac(sha256) " + sha256Key,
		state + "mode tunnel enc cbc(aes)", state + "mode tunnel enc cbc(aes) 0x00zz " + sha256,
		"xfrm policy add src 10.1.0.0/16", policy + "dir sideways", policy + "dir out dir in", policy + "dir out action maybe",
		policy + "dir out src 10.0.0.0/8", policy + "proto frob dir out", policy + "proto icmp sport 5 dir out", policy + "proto icmp dport 0 dir out", policy + "proto tcp dport 65536 dir out",
		policy + "dev eth7 dir out", policy + "dir out priority x", policy + "dir out tmpl", policy + "dir out tmpl mode tunnel level maybe",
		"xfrm policy add src any dir out", "xfrm policy add src 10.0.0.0/33 dir out", "xfrm policy delete dst 10.0.0.0/8",
		"xfrm policy delete index 9 dst 10.0.0.0/8 dir out", "xfrm policy delete dir out",
		"xfrm policy add src 10.0.0.0/8 dst ::/0 dir out", "xfrm policy add src 2001:db8::/129 dir out", "xfrm policy add src fe80::1%red dir out", "xfrm policy add src 2001:db8:::1 dir out",
		state + "mode tunnel sel src ::/0 dst 0.0.0.0/0 " + gcm, "xfrm state add src 192.0.2.1 dst 2001:db8::2 proto esp spi 1 mode tunnel " + gcm,
		"xfrm state add src 2001:db8::1 dst 192.0.2.2 proto esp spi 1 mode tunnel " + gcm, "xfrm state list src ::/0 dst 0.0.0.0/0", "xfrm state delete src 10.0.0.1 dst 2001:db8::2 proto esp spi 1",
		"xfrm policy add dst ::/0 dir out tmpl src 2001:db8::1 dst 192.0.2.2 proto esp mode tunnel", "xfrm state list src 2001:db8::/129",
		policy + "proto icmp type 256 dir out", policy + "proto icmp type 8 dport 5 dir out", policy + "type 8 dir out", policy + "proto tcp code 8 dir out",
		"route add 2001:db8:a::/48 via 192.0.2.2 dev red", "route add 10.6.0.0/16 via 2001:db8::9 dev red", "route add 10.7.0.0/16 via inet 2001:db8::9 dev red", "neigh add fe80::9%red lladdr 02:00:00:00:00:09 dev red",
		"addr add 10.0.0.300/24 dev red", "addr add 10.0.0.1/24 dev a/b", "link set dev red mtu x", "link set dev red address 02:00",
		"route add 10.2.0.0/99 dev black", "neigh add 192.0.2.9 lladdr zz dev black", "neigh add 192.0.2.9 lladdr 02:00:00:00:00:01",
	}
	read := iproute(t, append(append([]string{}, both...), neither...))
	for i, line := range append(append([]string{}, both...), neither...) {
		_, err := ParseBatch("f", []byte(line))
		want := i < len(both)
		if (err == nil) != want {
			t.Errorf("here: %s: %v", line, err)
		}
		if read[i] != want {
			t.Errorf("ip reads %t, expected %t: %s", read[i], want, line)
		}
	}
}

// TestBatchFileOfIproute gives one file to both, whole.
func TestBatchFileOfIproute(t *testing.T) {
	text := "# comment\naddr add 192.0.2.1/24 dev black # more\n\nlink set dev black up\nxfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 \\\n  dir out priority 100 \\\n  " +
		tmpl + "\nroute add \"10.2.0.0/16\" via '192.0.2.2' dev black\nneigh add 192.0.2.2 lladdr 02:00:00:00:00:01 dev black\n"
	commands, err := ParseBatch("f", []byte(text))
	if err != nil || len(commands) != 5 {
		t.Fatalf("%d commands, %v", len(commands), err)
	}
	iproute(t, []string{"link show"}) // skips where there is no ip
	file := filepath.Join(t.TempDir(), "batch")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("unshare", "--net", "--map-root-user", "sh", "-c",
		"ip link add red type veth peer name black && ip link set red up && ip -batch "+file+" && ip xfrm policy list && ip neigh && ip route").CombinedOutput()
	if err != nil {
		t.Fatalf("ip refuses the file: %v\n%s", err, out)
	}
	for _, want := range []string{"src 10.1.0.0/16 dst 10.2.0.0/16", "10.2.0.0/16 via 192.0.2.2", "02:00:00:00:00:01"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ip does not show %q:\n%s", want, out)
		}
	}
}
