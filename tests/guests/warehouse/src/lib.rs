//! A test plugin with much data: 5,000 orders in pages, and 200 customers.

use portcullis_plugin::prelude::*;

/// The number of orders.
const ORDERS: u32 = 5000;
/// The number of orders in a page.
const PAGE: u32 = 100;
/// The number of customers.
const CUSTOMERS: u32 = 200;

/// Lists the orders, 100 in a page, from page 0.
#[arguments]
struct ListOrders {
    page: u32,
}

/// An order.
#[data]
struct Order {
    id: u32,
    customer: u32,
    status: String,
    cents: u32,
    note: String,
}

/// A page of orders.
#[data]
struct Orders {
    orders: Vec<Order>,
    /// The number of the next page, if there is one.
    next: Option<u32>,
}

impl Order {
    fn of(id: u32) -> Self {
        let status = if id.is_multiple_of(97) { "late" } else { "sent" };
        Self {
            id,
            customer: id * 7 % CUSTOMERS,
            status: status.to_owned(),
            cents: id * 31 % 10_000,
            note: format!("Leave order {id} at the door, please, and ring twice."),
        }
    }
}

impl Tool for ListOrders {
    const NAME: &'static str = "list_orders";
    const HINTS: Hints = Hints::new().read_only(true);
    type Output = Json<Orders>;

    fn call(self, _request: &Request) -> Result<Json<Orders>, Failure> {
        let first = self.page.saturating_mul(PAGE);
        let last = first.saturating_add(PAGE).min(ORDERS);
        let next = (last < ORDERS).then_some(self.page + 1);
        Ok(Json(Orders { orders: (first..last).map(Order::of).collect(), next }))
    }
}

/// Reads a customer.
#[arguments]
struct GetCustomer {
    id: u32,
}

/// A customer.
#[data]
struct Customer {
    id: u32,
    name: String,
    country: String,
    address: String,
}

impl Tool for GetCustomer {
    const NAME: &'static str = "get_customer";
    const HINTS: Hints = Hints::new().read_only(true);
    type Output = Json<Customer>;

    fn call(self, _request: &Request) -> Result<Json<Customer>, Failure> {
        let id = self.id;
        if id >= CUSTOMERS {
            return Err(Failure::new(format!("there is no customer {id}")));
        }
        let country = ["DE", "FR", "IN", "US"][(id % 4) as usize].to_owned();
        let address = format!("{id} Long Street, Building {}, Some Town", id % 9);
        Ok(Json(Customer { id, name: format!("Customer {id}"), country, address }))
    }
}

/// Sets the status of an order.
#[arguments]
struct SetStatus {
    id: u32,
    status: String,
}

impl Tool for SetStatus {
    const NAME: &'static str = "set_status";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(format!("order {} is {} now; the customer is told by mail", self.id, self.status))
    }
}

plugin! {
    name: "warehouse",
    tools: [ListOrders, GetCustomer, SetStatus],
}
