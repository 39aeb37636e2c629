/// The events of the audit that the service itself adds. The others come from triggers of the database.
enum NotedEvent: String, CaseIterable, Sendable {
  case applicationTakenBack = "application taken back"
  case auditExported = "audit exported"
  case backupMade = "backup made"
  case consoleSignOut = "console sign-out"
  case databaseMoved = "database moved"
  case lostKeyGivenUp = "lost key given up"
  case secretsSealed = "secrets sealed"
  case secretsUnsealed = "secrets unsealed"
}
