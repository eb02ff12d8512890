package xfrm

import "strings"

// maxDSCP is the highest of the six-bit field (RFC 2474, 3).
const maxDSCP = 63

// dscpNames are the names of IANA's registry: RFC 2474, 2597, 3246, 5865 and 8622.
var dscpNames = map[string]uint8{
	"cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "af11": 10, "af12": 12, "af13": 14, "af21": 18,
	"af22": 20, "af23": 22, "af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38, "ef": 46, "voice-admit": 44, "le": 1,
}

// parseDSCP reads a name, in either case, or a number.
func parseDSCP(text string) (dscp uint8, ok bool) {
	if dscp, ok = dscpNames[strings.ToLower(text)]; ok {
		return dscp, true
	}
	n, ok := parseNumber(text, 8)
	return uint8(n), ok && n <= maxDSCP
}
