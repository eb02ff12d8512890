// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// headers keep the page to itself: nothing from elsewhere, nothing written into it runs, no other
// site shows it, no copy of it stays.
var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"Cache-Control":                "no-store",
}

// Guarded adds the headers to each answer, and refuses requests under a name that is not this
// machine's own: such a name may be another site's that points here, whose scripts would read the
// page (DNS rebinding). An address cannot be pointed elsewhere, and `names` are the
// administrator's.
func Guarded(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if !own(r.Host, names) {
			http.Error(w, "this page is served by IP address, as localhost or by a name that the configuration has: a proxy in front must set Host so", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// own says whether a Host is localhost, an IP address or one of some names, with or without a port.
func own(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(host, name) })
}
