// swift-tools-version: 6.3
import PackageDescription

// What sudo and sshd load (IAMPASSProtocol, IAMPASSClient, HostState, LoginModule, pam) imports no Foundation,
// Dispatch or Concurrency, and links libpam, libmd (SHA-256) and json-c only. It opens libcrypto by itself, after the
// phone was asked, if `approvals = verified`. libcurl and libseccomp (which system calls the network's process may make)
// belong to iampass-https alone, libsystemd (the system bus, the watchdog) to iampass-helper, libfido2 (what phones'
// authenticators sign) to iampass-server.

/// `SANITIZE=address` or `thread` is for building with that sanitizer, whose symbols `-z defs` would not find:
/// packaging/sanitize.
let sanitizer = Context.environment["SANITIZE"]

/// `FUZZ=1` adds the fuzzers, and instruments what they look at: packaging/fuzz. Libraries of others are left as they are.
let fuzzing = Context.environment["FUZZ"] != nil
let fuzzed: [String] = ["-sanitize=fuzzer,address", "-O", "-enable-testing"]

/// `SHIPPED=1` leaves out what no package of Debian's has: packaging/build-product.
let shippedOnly = Context.environment["SHIPPED"] != nil

/// The same bytes in every folder: C code, and what Swift takes from headers, has file names in its assertions.
let relativePaths = "-ffile-prefix-map=\(Context.packageDirectory)=."
let relative: [CSetting] = [.unsafeFlags([relativePaths], .when(configuration: .release))]

let strict: [SwiftSetting] =
  [.treatAllWarnings(as: .error), .unsafeFlags(["-Xcc", relativePaths], .when(configuration: .release))]
  + (fuzzing ? [.unsafeFlags(fuzzed)] : [])

/// Without regular expressions, which the compiler links into everything by itself: a megabyte in each program.
let lean: [SwiftSetting] =
  strict + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]

/// What a login starts, and what always runs, has libstdc++, which the Swift runtime needs, inside: loading it takes
/// 2 ms and 2 MB. Packed relocations (DT_RELR, of glibc 2.36 and later) save half a megabyte more.
let startsFast: [LinkerSetting] = [
  .unsafeFlags(["-use-ld=lld", "-Lpam/link", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"])
]

/// What the Swift runtime frees in a process that lives on is cleared (Sources/Shims/ClearingFree says why). A sanitizer has
/// a `free` of its own.
let clearsWhatItFrees: [LinkerSetting] =
  sanitizer != nil ? [] : [.unsafeFlags(["-Xlinker", "--wrap=free", "-Xlinker", "--wrap=realloc"])]
let clearingFree: [Target.Dependency] = sanitizer != nil ? [] : ["ClearingFree"]

let moduleLinkerFlags: [String] =
  [
    "-static-stdlib",
    // pam_end would unload a live Swift runtime.
    "-Xlinker", "-z", "-Xlinker", "nodelete",
    "-Xlinker", "--version-script=pam/pam_iampass.map",
  ]
  // A missing static library shows at link time, not at dlopen inside sudo.
  + (sanitizer != nil ? [] : ["-Xlinker", "-z", "-Xlinker", "defs"])

/// Their `main` leads to libFuzzer.
let fuzzerFlags: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]
let fuzzerLinkerFlags: [LinkerSetting] = [.unsafeFlags(["-use-ld=lld", "-sanitize=fuzzer,address"])]
let fuzzers: [Target] = [
  .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
  .executableTarget(
    name: "fuzz-login",
    dependencies: ["CFuzzer", "FuzzKit", "IAMPASSProtocol", "IAMPASSClient", "HostState", "PresenceLink"],
    path: "Tests/Fuzz/Login", swiftSettings: strict + fuzzerFlags, linkerSettings: fuzzerLinkerFlags),
  .executableTarget(
    name: "fuzz-server",
    dependencies: [
      "CFuzzer", "FuzzKit", "IAMPASSProtocol", "DeviceProtocol", "IAMPASSServer", "CLibcrypto",
      .product(name: "Logging", package: "swift-log"),
    ],
    path: "Tests/Fuzz/Server", swiftSettings: strict + fuzzerFlags, linkerSettings: fuzzerLinkerFlags),
]

/// What the fuzzers look at, with the inputs that are kept: without libFuzzer, for every run of the tests.
let keptInputs = Target.testTarget(
  name: "KeptInputsTests",
  dependencies: [
    "FuzzKit", "IAMPASSProtocol", "IAMPASSClient", "HostState", "HostSystem", "WorkerLink", "PresenceLink",
    "DeviceProtocol", "IAMPASSServer", "CLibcrypto", .product(name: "Logging", package: "swift-log"),
  ],
  path: "Tests/Fuzz",
  exclude: ["CFuzzer", "Kit", "Login/Main.swift", "Server/Main.swift", "README.md", "corpora", "dictionaries", "run"],
  swiftSettings: strict)

/// Works around an interceptor that ThreadSanitizer lacks; Tests/Sanitizers/ThreadSanitizer/mutex.c explains it.
let mutexForThreadSanitizer = Target.target(
  name: "MutexForThreadSanitizer", path: "Tests/Sanitizers/ThreadSanitizer",
  linkerSettings: [
    .unsafeFlags(
      ["9_lockSlowyys6UInt32VF", "12_tryLockSlowSbyF", "11_unlockSlowyyF"].flatMap {
        ["-Xlinker", "--wrap=$s15Synchronization12_MutexHandleV\($0)"]
      })
  ])

let package = Package(
  name: "iampass",
  products: [
    .library(name: "pam_iampass", type: .dynamic, targets: ["pam_iampass"]),
    .executable(name: "iampass-https", targets: ["iampass-https"]),
    .executable(name: "iampass-helper", targets: ["iampass-helper"]),
    .executable(name: "iampassctl", targets: ["iampassctl"]),
    .executable(name: "iampass-server", targets: ["iampass-server"]),
    .executable(name: "iampass-phone", targets: ["iampass-phone"]),
    // For other programs: a phone's side; a relying party's side; its HTTPS without a worker process.
    .library(
      name: "IAMPASSPhone", targets: ["IAMPASSPhone", "DeviceProtocol", "IAMPASSProtocol", "WorkerLink", "HostSystem"]),
    .library(name: "IAMPASSClient", targets: ["IAMPASSClient", "IAMPASSProtocol", "WorkerLink", "HostSystem"]),
    .library(name: "IAMPASSHTTPTransport", targets: ["IAMPASSHTTPTransport"]),
  ],
  // All that is built, each in the version that packaging/dependencies.txt has: no release of others changes a build.
  dependencies: [
    // The commands' options, help and exit codes.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    // The service's HTTP/1.1 and HTTP/2 over TLS; without its readers of configuration.
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    // The service's TLS contexts, which Hummingbird takes.
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    // Its connections of HTTP/2, whose streams the service answers itself.
    .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    // The service's storage: SQLite with migrations.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    // The service's approval tokens: JWTs of ES256, and the keys that others verify them by.
    .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    // The service's log.
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    // HTTPS in the process, for other programs on IAMPASSClient and IAMPASSPhone: nothing that a login loads has it.
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    // The same library's event loops.
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    // What these bring with them.
    .package(url: "https://github.com/apple/swift-algorithms", exact: "1.2.1"),
    .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
    .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
    .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0"),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
    .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-transport-services", exact: "1.28.0"),
    .package(url: "https://github.com/apple/swift-numerics", exact: "1.1.1"),
    .package(url: "https://github.com/apple/swift-service-context", exact: "1.5.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
  ],
  targets: [
    .systemLibrary(name: "CPAM", path: "Sources/Shims/CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CLibmd", path: "Sources/Shims/CLibmd", pkgConfig: "libmd", providers: [.apt(["libmd-dev"])]),
    .systemLibrary(
      name: "CLibcrypto", path: "Sources/Shims/CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CJSON", path: "Sources/Shims/CJSON", pkgConfig: "json-c", providers: [.apt(["libjson-c-dev"])]),
    .systemLibrary(
      name: "CCurl", path: "Sources/Shims/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CSystemd", path: "Sources/Shims/CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(
      name: "CQRCode", path: "Sources/Shims/CQRCode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(
      name: "CFido2", path: "Sources/Shims/CFido2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
    .systemLibrary(
      name: "CPostgreSQL", path: "Sources/Shims/CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(
      name: "CConfinement", path: "Sources/Shims/CConfinement", pkgConfig: "libseccomp",
      providers: [.apt(["libseccomp-dev"])]),
    .systemLibrary(name: "CHost", path: "Sources/Shims/CHost"),
    .systemLibrary(name: "CBluetooth", path: "Sources/Shims/CBluetooth"),
    // Called only where --wrap=free is linked by.
    .target(name: "ClearingFree", path: "Sources/Shims/ClearingFree", cSettings: relative),
    // Around the loading of the Swift runtime and of libcrypto into setuid programs.
    .target(name: "HiddenVariables", path: "Sources/Shims/HiddenVariables", cSettings: relative),
    // Opens libcrypto by dlopen(3): nothing here links it.
    .target(
      name: "SystemLibcrypto", dependencies: ["HiddenVariables"], path: "Sources/Shims/SystemLibcrypto",
      cSettings: relative),
    // Opens libcrypt (libxcrypt's yescrypt, for recovery codes) by dlopen(3): nothing here links it.
    .target(name: "SystemLibcrypt", path: "Sources/Shims/SystemLibcrypt", cSettings: relative),
    // Opens libqrencode (QR codes at the prompt of a sign-in without a network) by dlopen(3): nothing here links it.
    .target(name: "SystemLibqrencode", path: "Sources/Shims/SystemLibqrencode", cSettings: relative),
    // Called by libcurl, in place of libnghttp2.
    .target(name: "WholeStreams", path: "Sources/Shims/WholeStreams", cSettings: relative),
    // Needs the C library's list of mapped segments, which Swift's module of it leaves out.
    .target(name: "ProgramPages", path: "Sources/Shims/ProgramPages", cSettings: relative),

    .target(name: "IAMPASSProtocol", dependencies: ["CLibmd", "CJSON"], swiftSettings: lean),
    .target(name: "HostSystem", dependencies: ["CHost"], swiftSettings: lean),
    .target(name: "WorkerLink", dependencies: ["HostSystem", "IAMPASSProtocol", "CHost"], swiftSettings: lean),
    .target(name: "IAMPASSClient", dependencies: ["IAMPASSProtocol", "HostSystem", "WorkerLink"], swiftSettings: lean),
    .target(
      name: "HostState",
      dependencies: [
        "PresenceLink", "IAMPASSProtocol", "HostSystem", "WorkerLink", "IAMPASSClient", "CHost", "SystemLibcrypto",
        "SystemLibcrypt",
      ],
      swiftSettings: lean),
    .target(
      name: "LoginModule",
      dependencies: [
        "IAMPASSProtocol", "HostSystem", "WorkerLink", "IAMPASSClient", "HostState", "CPAM", "CHost",
        "SystemLibqrencode",
      ],
      swiftSettings: lean),
    .target(
      name: "pam_iampass", dependencies: ["LoginModule", "HiddenVariables"] + clearingFree, path: "pam",
      exclude: ["pam_iampass.map", "check-load", "link"],
      sources: ["pam_iampass.c"], publicHeadersPath: "include",
      cSettings: relative,
      linkerSettings: startsFast + clearsWhatItFrees + [.unsafeFlags(moduleLinkerFlags), .linkedLibrary("pam")]),

    .target(name: "PresenceLink", swiftSettings: lean),
    .target(
      name: "PresenceProbe", dependencies: ["PresenceLink", "CHost", "CBluetooth", "ProgramPages"], swiftSettings: lean),

    .target(
      name: "SignInBroker",
      dependencies: [
        "HostSystem", "IAMPASSProtocol", "HostState", "LoginModule", "CHost",
      ],
      swiftSettings: lean),
    .target(
      name: "KeyringSeal", dependencies: ["HostSystem", "IAMPASSProtocol", "HostState", "CHost"], swiftSettings: lean),
    .target(name: "PAMStacks", dependencies: ["HostSystem", "HostState"], swiftSettings: lean),
    .target(
      name: "SessionHelper",
      dependencies: [
        "PresenceLink", "IAMPASSProtocol", "HostSystem", "WorkerLink", "IAMPASSClient", "HostState", "PAMStacks",
        "CSystemd", "CHost",
      ],
      swiftSettings: lean),

    .target(
      name: "CommandSupport",
      dependencies: [
        "HostSystem", "IAMPASSProtocol", "CHost",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    .target(
      name: "HostDoctor",
      dependencies: [
        "IAMPASSProtocol", "HostSystem", "CommandSupport", "WorkerLink", "IAMPASSClient", "HostState",
        "PAMStacks", "PresenceLink", "CHost",
      ], swiftSettings: strict),
    .target(name: "QRCodes", dependencies: ["CQRCode"], swiftSettings: strict),
    .target(
      name: "IAMPASSControl",
      dependencies: [
        "IAMPASSProtocol", "HostSystem", "CommandSupport", "WorkerLink", "IAMPASSClient", "HostState", "HostDoctor",
        "PAMStacks", "PresenceLink", "QRCodes", "CPAM", "CHost",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),

    .target(
      name: "IAMPASSHTTPTransport",
      dependencies: [
        "HostSystem", "WorkerLink", "IAMPASSProtocol",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: strict),
    .target(
      name: "IAMPASSPhone", dependencies: ["IAMPASSProtocol", "DeviceProtocol", "HostSystem", "WorkerLink"],
      swiftSettings: strict),
    .target(name: "DeviceProtocol", dependencies: ["IAMPASSProtocol", "CLibcrypto"], swiftSettings: strict),
    // libpq (PostgreSQL's client) for the service's second storage engine.
    .target(name: "PostgreSQLLink", dependencies: ["CPostgreSQL"], swiftSettings: strict),
    .target(
      name: "IAMPASSServer",
      dependencies: [
        "IAMPASSProtocol", "DeviceProtocol", "CLibcrypto", "CFido2", "CQRCode", "CHost", "PostgreSQLLink",
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        // The event loops under it, and its forms of requests.
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "GRDB", package: "GRDB.swift"),
        // SQLite's own functions, with which a move reads and writes millions of values.
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "JWTKit", package: "jwt-kit"),
        // AES-GCM, which the JWTs' library brings with it.
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
      ],
      // The server is installed as one file, so its pages are inside.
      resources: [.embedInCode("PhonePage")], swiftSettings: strict),

    // The programs iampass-server and iampass-phone, so that tests can import them.
    .target(
      name: "ServerCommands",
      dependencies: [
        "IAMPASSServer", "IAMPASSProtocol", "QRCodes", "HostSystem", "CommandSupport", "ProgramPages", "CLibcrypto",
        "CHost",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "PhoneCommands",
      dependencies: [
        "IAMPASSProtocol", "DeviceProtocol", "IAMPASSPhone", "HostSystem", "CommandSupport", "WorkerLink",
        "IAMPASSClient", "CHost",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),

    .target(
      name: "NetworkWorker",
      dependencies: ["CCurl", "CConfinement", "CLibcrypto", "CHost", "HostSystem", "IAMPASSProtocol", "WorkerLink"],
      swiftSettings: lean),
    .executableTarget(
      name: "iampass-https", dependencies: ["NetworkWorker", "WholeStreams"], swiftSettings: lean,
      linkerSettings: startsFast),
    .target(
      name: "HelperProgram",
      dependencies: [
        "IAMPASSProtocol", "HostState", "SessionHelper", "PresenceProbe", "SignInBroker", "KeyringSeal", "CHost",
      ],
      swiftSettings: lean),
    .executableTarget(
      name: "iampass-helper", dependencies: ["HelperProgram"] + clearingFree, swiftSettings: lean,
      linkerSettings: startsFast + clearsWhatItFrees),
    .executableTarget(
      name: "iampassctl", dependencies: ["IAMPASSControl"], swiftSettings: strict, linkerSettings: startsFast),
    .executableTarget(name: "iampass-server", dependencies: ["ServerCommands"], swiftSettings: strict),
    .executableTarget(name: "iampass-phone", dependencies: ["PhoneCommands"], swiftSettings: strict),

    .testTarget(
      name: "IAMPASSProtocolTests", dependencies: ["IAMPASSProtocol"], path: "Tests/Unit/IAMPASSProtocolTests",
      resources: [.copy("signing-vectors.json"), .copy("signed-lists.json")], swiftSettings: strict),
    .testTarget(
      name: "IAMPASSClientTests",
      dependencies: [
        "IAMPASSClient", "HostState", "HostSystem", "IAMPASSProtocol", "WorkerLink", "DeviceProtocol",
      ],
      path: "Tests/Unit/IAMPASSClientTests",
      swiftSettings: strict),
    .testTarget(
      name: "WorkerLinkTests", dependencies: ["WorkerLink", "HostSystem", "IAMPASSProtocol", "CHost", "ForkedChild"],
      path: "Tests/Unit/WorkerLinkTests", swiftSettings: strict),
    .testTarget(
      name: "DeviceProtocolTests", dependencies: ["DeviceProtocol", "IAMPASSProtocol"],
      path: "Tests/Unit/DeviceProtocolTests", swiftSettings: strict),
    .testTarget(
      name: "IAMPASSPhoneTests",
      dependencies: [
        "IAMPASSPhone", "PhoneCommands", "DeviceProtocol", "HostSystem", "IAMPASSProtocol", "WorkerLink",
      ],
      path: "Tests/Unit/IAMPASSPhoneTests",
      swiftSettings: strict),
    .testTarget(
      name: "HostSystemTests", dependencies: ["HostSystem", "WorkerLink", "CHost"],
      path: "Tests/Unit/HostSystemTests", swiftSettings: strict),
    .testTarget(
      name: "HostStateTests",
      dependencies: [
        "PresenceLink", "HostState", "HostSystem", "IAMPASSClient", "IAMPASSProtocol", "WorkerLink", "DeviceProtocol",
        "CHost", "ForkedChild",
      ],
      path: "Tests/Unit/HostStateTests",
      swiftSettings: strict),
    .testTarget(
      name: "IAMPASSControlTests",
      dependencies: [
        "IAMPASSControl", "CommandSupport", "HostDoctor", "PresenceLink", "HostState", "HostSystem", "IAMPASSProtocol",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Tests/Unit/IAMPASSControlTests", swiftSettings: strict),
    .testTarget(
      name: "HostDoctorTests",
      dependencies: [
        "HostDoctor", "PAMStacks", "HostState", "HostSystem", "IAMPASSClient", "IAMPASSProtocol", "WorkerLink",
        "PresenceLink", "QRCodes",
      ],
      path: "Tests/Unit/HostDoctorTests", swiftSettings: strict),
    .testTarget(
      name: "LoginModuleTests",
      dependencies: [
        "LoginModule", "HostState", "HostSystem", "IAMPASSClient", "IAMPASSProtocol", "WorkerLink", "DeviceProtocol",
        "CPAM", "CHost", "ForkedChild",
      ], path: "Tests/Unit/LoginModuleTests",
      swiftSettings: strict),
    .testTarget(
      name: "PresenceLinkTests", dependencies: ["PresenceLink", "PresenceProbe"], path: "Tests/Unit/PresenceLinkTests",
      swiftSettings: strict),
    .testTarget(
      name: "SignInBrokerTests",
      dependencies: ["SignInBroker", "LoginModule", "HostState", "HostSystem", "IAMPASSProtocol"],
      path: "Tests/Unit/SignInBrokerTests", swiftSettings: strict),
    .testTarget(
      name: "KeyringSealTests", dependencies: ["KeyringSeal", "HostState", "HostSystem", "IAMPASSProtocol"],
      path: "Tests/Unit/KeyringSealTests",
      swiftSettings: strict),
    .testTarget(
      name: "SessionHelperTests",
      dependencies: [
        "SessionHelper", "PAMStacks", "PresenceLink", "HostState", "HostSystem", "IAMPASSClient", "IAMPASSProtocol",
        "WorkerLink", "CSystemd", "CHost",
      ],
      path: "Tests/Unit/SessionHelperTests",
      swiftSettings: strict),
    .testTarget(
      name: "PostgreSQLLinkTests", dependencies: ["PostgreSQLLink", "LocalPostgreSQL"],
      path: "Tests/Unit/PostgreSQLLinkTests", swiftSettings: strict),
    .target(name: "FuzzKit", path: "Tests/Fuzz/Kit", swiftSettings: strict),
    // How a test waits for a process that it forked.
    .target(name: "ForkedChild", path: "Tests/Support/ForkedChild", swiftSettings: strict),
    // Debian's PostgreSQL server, for tests alone.
    .target(
      name: "LocalPostgreSQL", dependencies: ["PostgreSQLLink"], path: "Tests/Support/LocalPostgreSQL",
      exclude: ["as-postgres", "make-root"], swiftSettings: strict),
    .testTarget(
      name: "ServerCommandsTests",
      dependencies: [
        "ServerCommands", "CommandSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/Unit/ServerCommandsTests", swiftSettings: strict),
    .testTarget(
      name: "IAMPASSServerTests",
      dependencies: [
        "IAMPASSServer", "IAMPASSProtocol", "DeviceProtocol", "PostgreSQLLink", "LocalPostgreSQL",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "JWTKit", package: "jwt-kit"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Logging", package: "swift-log"),
      ], path: "Tests/Unit/IAMPASSServerTests", exclude: ["released-statements.sql"], swiftSettings: strict),
  ]
)

// The folder of each target, by what it is for.
let groups = [
  "Wire": ["IAMPASSProtocol", "DeviceProtocol", "IAMPASSClient", "IAMPASSPhone", "IAMPASSHTTPTransport"],
  "Worker": ["WorkerLink", "NetworkWorker", "iampass-https"],
  "Computer": [
    "HostSystem", "HostState", "PAMStacks", "LoginModule", "SignInBroker", "KeyringSeal", "PresenceLink",
    "PresenceProbe", "SessionHelper", "HelperProgram", "iampass-helper",
  ],
  "Commands": [
    "CommandSupport", "QRCodes", "HostDoctor", "IAMPASSControl", "ServerCommands", "PhoneCommands", "iampassctl",
    "iampass-server", "iampass-phone",
  ],
  "Service": ["PostgreSQLLink", "IAMPASSServer"],
]
for (group, names) in groups {
  for target in package.targets where names.contains(target.name) { target.path = "Sources/\(group)/\(target.name)" }
}

// A file belongs to one target.
package.targets += fuzzing ? fuzzers : [keptInputs]
if shippedOnly {
  let left = ["IAMPASSHTTPTransport", "LocalPostgreSQL", "FuzzKit"]
  package.targets.removeAll { $0.type == .test || left.contains($0.name) }
  package.products.removeAll { left.contains($0.name) }
}
if sanitizer == "thread" {
  // Only these tests use threads, and building the others takes minutes.
  let threaded = ["SessionHelperTests", "IAMPASSServerTests"]
  package.targets.removeAll { $0.type == .test && !threaded.contains($0.name) }
  package.targets.append(mutexForThreadSanitizer)
  for target in package.targets where target.type == .test {
    target.dependencies.append("MutexForThreadSanitizer")
  }
}
