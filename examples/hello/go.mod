module example.com/hello

go 1.26.0

require github.com/goroce/goroce v0.0.0

require (
	github.com/safchain/ethtool v0.7.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

// goroce is not published yet: link the checkout.
replace github.com/goroce/goroce => ../..
