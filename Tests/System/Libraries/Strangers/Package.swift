// swift-tools-version: 6.3
import PackageDescription

// Two programs as other people would write them, on the products that the package exports.

let package = Package(
  name: "strangers",
  dependencies: [.package(name: "iampass", path: "../../../..")],
  targets: [
    .executableTarget(
      name: "relying-party",
      dependencies: [
        .product(name: "IAMPASSClient", package: "iampass"), .product(name: "IAMPASSHTTPTransport", package: "iampass"),
      ]),
    .executableTarget(
      name: "stranger-phone",
      dependencies: [
        .product(name: "IAMPASSPhone", package: "iampass"), .product(name: "IAMPASSHTTPTransport", package: "iampass"),
      ]),
  ]
)
