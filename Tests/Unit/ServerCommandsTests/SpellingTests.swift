import ArgumentParser
import CommandSupport
import Testing

@testable import ServerCommands

struct SpellingTests {
  @Test(arguments: [("chek", "check", 1), ("audti", "audit", 1), ("audit", "audit", 0), ("", "abc", 3), ("a", "", 1)])
  func lettersThatDifferAreCounted(left: String, right: String, distance: Int) {
    #expect(Spelling.distance(from: left, to: right) == distance)
  }

  @Test func theNearestWordIsMeant() {
    #expect(Spelling.nearest(to: "offic", in: ["lab", "office", "offices"]) == "office")
    #expect(Spelling.nearest(to: "elsewhere", in: ["lab", "office"]) == nil)
    #expect(Spelling.nearest(to: "xy", in: ["ab"]) == nil)
  }

  @Test func whatIsThereIsListed() {
    #expect(Spelling.hint(for: "ofice", known: ["office", "lab"]) == "did you mean office? there is: lab, office")
    #expect(Spelling.hint(for: "elsewhere", known: ["lab"]) == "there is: lab")
    #expect(Spelling.hint(for: "elsewhere", known: []) == nil)
  }

  @Test(arguments: [
    (["audt", "--data", "x"], "did you mean iampass-server audit?"),
    (["application", "lst"], "did you mean iampass-server application list?"),
    (["elsewhere"], "iampass-server --help"),
    // For setup alone.
    (["application", "tak"], "iampass-server application --help"),
  ])
  func anUnknownCommandIsToldWithTheOneThatWasMeant(words: [String], hint: String) throws {
    let problem = try #require(CommandProblem.unknownCommand(in: words, of: ServerCommand.self))
    #expect(problem.hint == hint)
  }

  @Test(arguments: [
    [], ["--help"], ["help", "audit"], ["audit", "anything"], ["application", "--help"], ["application", "take", "x"],
  ])
  func otherWordsAreTheParsers(words: [String]) {
    #expect(CommandProblem.unknownCommand(in: words, of: ServerCommand.self) == nil)
  }

  @Test func eachCommandIsKnown() {
    func look(at command: any ParsableCommand.Type, _ path: [String]) {
      #expect(CommandProblem.unknownCommand(in: path, of: ServerCommand.self) == nil)
      for next in command.configuration.subcommands {
        #expect(next.configuration.aliases.isEmpty)
        look(at: next, path + [next._commandName])
      }
    }
    look(at: ServerCommand.self, [])
  }
}
