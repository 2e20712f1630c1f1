"""What templates show beside an answer: tables, trees and bars made of its lists. All pure."""
