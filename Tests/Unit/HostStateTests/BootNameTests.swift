import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

@Suite struct BootNameTests {
  private let bootID = "0f6c2c39-7a0e-4a4f-9d3e-1c2b3a495867"

  @Test func isTheSameForOneBootAndAnotherForTheNext() {
    let name = BootName.name(of: Array((bootID + "\n").utf8))
    #expect(name?.utf8.count == 32)
    #expect(name == BootName.name(of: Array(bootID.utf8)))
    #expect(name != BootName.name(of: Array(("1" + bootID.dropFirst()).utf8)))
    #expect(BootName.current() != nil && BootName.current() == BootName.current())
  }

  @Test func doesNotTellTheKernelsOwn() {
    #expect(name.map { bootID.replacing("-", with: "").contains($0) } == false)
  }

  @Test(arguments: ["", "\n", "0f6c2c39"])
  func anInvalidBootIDHasNoName(_ text: String) {
    #expect(BootName.name(of: Array(text.utf8)) == nil)
  }

  private var name: String? { BootName.name(of: Array(bootID.utf8)) }
}
