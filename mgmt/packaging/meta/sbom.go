// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill is the list of the modules in the programs (CycloneDX 1.6), the same as in copyright.
func bill(version string, at time.Time, modules []module) (string, error) {
	b := cdx.NewBOM()
	b.Metadata = &cdx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: "sallyport-mgmt", Type: cdx.ComponentTypeApplication, Name: "sallyport-mgmt", Version: version,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	components, refs := []cdx.Component{}, []string{}
	for _, m := range modules {
		url := fmt.Sprintf("pkg:golang/%s@%s", m.path, strings.ReplaceAll(m.version, "+", "%2B"))
		licences := cdx.Licenses{}
		for _, l := range m.licences {
			licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: l.name}})
		}
		components = append(components, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: url, Licenses: &licences})
		refs = append(refs, url)
	}
	b.Components = &components
	b.Dependencies = &[]cdx.Dependency{{Ref: "sallyport-mgmt", Dependencies: &refs}}
	var out strings.Builder
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b, cdx.SpecVersion1_6)
	return out.String(), err
}
