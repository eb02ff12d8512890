// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/testbox"
)

// rig is a fake box, with what the tests of this package look at.
type rig struct{ *testbox.Rig }

func newRig(t *testing.T, sizes fakebox.Sizes) *rig { return &rig{testbox.New(t, sizes)} }
