@testable import SessionHelper
