import Foundation
import FuzzKit
import Testing

/// Each input of `corpora` once: mended faults stay mended. An input that breaks something ends the process, so these tests
/// have a process of their own; the last line before its end names the input.
@Suite(.serialized) struct KeptInputsTests {
  private static let corpora = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("corpora")
  private static let targets = loginTargets + serviceTargets

  @Test(arguments: targets.map(\.name)) func keptInputsBreakNothing(name: String) async throws {
    let target = try #require(Self.targets.first { $0.name == name })
    let folder = Self.corpora.appendingPathComponent(name)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(!files.isEmpty)
    let inputs = try files.map { ($0, Array(try Data(contentsOf: folder.appendingPathComponent($0)))) }
    // The service's targets wait for its tasks, which no task may do.
    await withCheckedContinuation { done in
      Thread.detachNewThread {
        for (file, input) in inputs {
          FileHandle.standardError.write(Data("input \(name)/\(file)\n".utf8))
          target.look(input)
        }
        done.resume()
      }
    }
  }

  @Test func eachFolderOfInputsHasATarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
    #expect(folders.sorted() == Self.targets.map(\.name).sorted())
  }
}
